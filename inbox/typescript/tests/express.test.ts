// The middleware, in Express 5 and in Express 4.

import assert from "node:assert/strict";
import express from "express";
import type pg from "pg";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { request as send } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import type { MiddlewareOptions } from "../src/express.js";
import { CuttingProxy, needsDatabase, prepare } from "./database.js";
import { count, pool, withShop, type Shop } from "./shop.js";

const express4 = createRequire(import.meta.url)("express4") as typeof express;
before(() => (needsDatabase.skip === undefined ? prepare(pool) : undefined));
after(() => pool.end());

async function through(
  cut: "before COMMIT arrives" | "after COMMIT",
  run: (pool: pg.Pool) => Promise<void>,
) {
  const proxy = await CuttingProxy.start(cut);
  const lossy = proxy.pool;
  try {
    await run(lossy);
    assert.equal(proxy.cuts, 1);
  } finally {
    await lossy.end();
    await proxy.stop();
  }
}

for (const [name, of] of [
  ["Express 5", express],
  ["Express 4", express4],
] as const) {
  const shopTest = (
    what: string,
    run: (shop: Shop) => Promise<void>,
    changes: Partial<MiddlewareOptions<express.Request>> = {},
  ): void => void test(`${name}: ${what}`, needsDatabase, () => withShop(of, run, changes));

  shopTest("a repeat gets the stored answer", async (shop) => {
    shop.then = (response, request) =>
      response.status(201).set("X-Order", "7").cookie("session", "secret").json(request.body);
    const first = await shop.post('"o-1"');
    const second = await shop.post("o-1");
    assert.deepEqual([first.status, first.text, first.replayed], [201, '{"amount":5}', null]);
    assert.deepEqual([second.status, second.text, second.replayed], [201, '{"amount":5}', "true"]);
    assert.equal(first.headers.get("Idempotency-Key"), '"o-1"');
    for (const header of ["X-Order", "Content-Type", "ETag", "X-Powered-By"]) {
      assert.equal(second.headers.get(header), first.headers.get(header));
    }
    assert.match(first.headers.get("Set-Cookie") ?? "", /secret/);
    assert.equal(second.headers.get("Set-Cookie"), null);
    assert.equal(shop.calls, 1);
    await count(shop, 1);
  });

  shopTest("another request under the key is a conflict", async (shop) => {
    await shop.post("o-1");
    await shop.isProblem("o-1", 422, "key-reused", { amount: 6 });
    assert.equal((await shop.post("o-1", { amount: 5 }, "/orders?x=1")).status, 422);
    await count(shop, 1);
  });

  shopTest("an exception and a 5xx roll back, a 4xx is stored", async (shop) => {
    shop.then = () => Promise.reject(new Error("no"));
    assert.deepEqual((await shop.post("o-1")).status, 500);
    for (const status of [503, 408, 425, 429]) {
      shop.then = (response) => response.sendStatus(status);
      assert.equal((await shop.post("o-1")).status, status);
    }
    await count(shop, 0);
    shop.then = (response) => response.status(402).send("no funds");
    for (const replayed of [null, "true"]) {
      const answer = await shop.post("o-1");
      assert.deepEqual([answer.status, answer.text, answer.replayed], [402, "no funds", replayed]);
    }
    assert.equal(shop.calls, 6);
  });

  shopTest(
    "an answer in pieces is stored whole, and nothing after its end counts",
    async (shop) => {
      shop.then = (response) => {
        response.writeHead(202, ["X-A", "1", "X-A", "2", "Content-Type", "text/plain"]);
        response.write("aé");
        response.write(Buffer.from("b"), () => {});
        response.end("63", "hex", () => response.emit("sent"));
        response.statusCode = 500;
        response.setHeader("X-A", "3");
        response.end("d");
      };
      for (let i = 0; i < 2; ++i) {
        const answer = await shop.post("o-1");
        assert.deepEqual(
          [answer.status, answer.text, answer.headers.get("X-A")],
          [202, "aébc", "1, 2"],
        );
      }
      assert.equal(shop.calls, 1);
    },
  );

  shopTest("a body without a length is read, and parsed after it", async (shop) => {
    shop.then = (response, request) => response.json((request.body as { a: string }).a.length);
    const pieces = (): ReadableStream =>
      new ReadableStream({
        async start(controller) {
          for (const piece of ['{"a":', '"', "x".repeat(90_000), '"}']) {
            controller.enqueue(Buffer.from(piece));
            await sleep(5);
          }
          controller.close();
        },
      });
    const first = await shop.send("POST", "/orders", "o-1", pieces());
    assert.deepEqual([first.status, first.text], [200, "90000"]);
    assert.equal((await shop.send("POST", "/orders", "o-1", pieces())).replayed, "true");
  });

  for (const cut of ["before COMMIT arrives", "after COMMIT"] as const) {
    const seen: unknown[] = [];
    test(`${name}: the connection breaks ${cut}`, needsDatabase, () =>
      through(cut, (lossy) =>
        withShop(
          of,
          async (shop) => {
            const first = await shop.post("o-1");
            if (cut === "after COMMIT") {
              assert.deepEqual([first.status, first.text, first.replayed], [201, '{"id":1}', null]);
            } else {
              // The handler cannot run again; nothing was kept, and its client sends it again.
              assert.deepEqual([first.status, first.headers.get("Retry-After")], [503, "1"]);
              assert.ok(seen[0] instanceof Error);
            }
            assert.equal(seen.length, cut === "after COMMIT" ? 0 : 1);
            const again = await shop.post("o-1");
            assert.equal(again.status, 201);
            assert.equal(again.replayed, cut === "after COMMIT" ? "true" : null);
            await count(shop, 1);
          },
          { pool: lossy, onError: (_request, error) => seen.push(error) },
        ),
      ),
    );
  }

  shopTest("a backend that ends while the handler runs", async (shop) => {
    shop.then = async (response, request) => {
      const text = "SELECT pg_terminate_backend(pg_backend_pid())";
      await request.onceward!.client.query(text).catch(() => {});
      response.status(201).json({});
    };
    await shop.isProblem("o-1", 503, "unavailable");
    await count(shop, 0);
    shop.then = (response) => response.status(201).json({});
    assert.equal((await shop.post("o-1")).status, 201);
    await count(shop, 1);
  });

  shopTest("two at once have one effect", async (shop) => {
    shop.then = async (response) => {
      await sleep(50);
      response.status(201).json({ id: 1 });
    };
    const answers = await Promise.all([shop.post("o-1"), shop.post("o-1"), shop.post("o-1")]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201],
    );
    assert.equal(answers.filter(({ replayed }) => replayed === "true").length, 2);
    await count(shop, 1);
  });

  shopTest("a key that is missing, malformed or sent twice", async (shop) => {
    await shop.isProblem(undefined, 400, "key-missing");
    for (const key of [
      "",
      '""',
      "a b",
      "a,b",
      '"a',
      'a"b',
      '"a", "b"',
      "k".repeat(256),
      '"a\\b"',
      '"a";B',
    ]) {
      await shop.isProblem(key, 400, "key-malformed");
    }
    const status = await new Promise((done, failed) => {
      const headers = ["Host", "x", "Idempotency-Key", "a", "Idempotency-Key", "b"];
      send({ port: shop.port, path: "/orders", method: "POST", headers }, (answer) =>
        done(answer.resume().statusCode),
      )
        .on("error", failed)
        .end();
    });
    assert.equal(status, 400);
    assert.equal(shop.calls, 0);
    for (const key of ['"a b,c"', '"q\\"\\\\";v=1; w="x";t', "k".repeat(255)]) {
      assert.equal((await shop.post(key)).status, 201);
    }
  });

  shopTest("other methods pass through", async (shop) => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      assert.equal((await shop.send(method, "/orders", "o-1")).status, 201);
    }
    await count(shop, 0);
    assert.equal((await shop.send("PATCH", "/orders")).status, 400);
  });
}
