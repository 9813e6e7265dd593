// The middleware where something is not as it should be.

import assert from "node:assert/strict";
import express from "express";
import type pg from "pg";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { ArgumentError, Inbox, mintedAtOfUuid7, uuid7 } from "../src/index.js";
import { idempotent } from "../src/express.js";
import { fresh, makePool, needsDatabase, prepare } from "./database.js";
import { count, pool, withShop } from "./shop.js";

before(() => (needsDatabase.skip === undefined ? prepare(pool) : undefined));
after(() => pool.end());

test("a wait that is too long is a key in flight", needsDatabase, async () => {
  const waits = makePool({ options: "-c lock_timeout=100ms" });
  try {
    await withShop(
      express,
      async (shop) => {
        shop.then = async (response) => {
          await sleep(400);
          response.sendStatus(204);
        };
        const first = shop.post("o-1");
        await sleep(100);
        const second = await shop.post("o-1");
        assert.deepEqual([second.status, second.headers.get("Retry-After")], [409, "1"]);
        assert.match(second.text, /key-in-flight/);
        assert.equal((await first).status, 204);
        await count(shop, 1);
      },
      { pool: waits },
    );
  } finally {
    await waits.end();
  }
});

test("a key that is too old, or from the future", needsDatabase, async () => {
  const ledger = fresh("ledger");
  await pool.query("SELECT onceward.register_ledger($1)", [ledger]);
  await pool.query(
    "UPDATE onceward.ledgers SET memory_begins = now() - interval '1 hour' WHERE name = $1",
    [ledger],
  );
  const inbox = new Inbox({ operation: fresh("POST"), ledger });
  await withShop(
    express,
    async (shop) => {
      await shop.isProblem("00000000-0000-7000-8000-000000000000", 412, "key-expired");
      await shop.isProblem("f0000000-0000-7000-8000-000000000000", 400, "key-malformed");
      await shop.isProblem("abc", 400, "key-malformed");
      assert.equal(shop.calls, 0);
      assert.equal((await shop.post(uuid7())).status, 201);
    },
    { inbox, mintedAt: mintedAtOfUuid7 },
  );
});

test("tenants do not see each other's answers", needsDatabase, () =>
  withShop(
    express,
    async (shop) => {
      for (const [target, replayed] of [
        ["/a", null],
        ["/b", null],
        ["/a", "true"],
      ] as const) {
        assert.equal((await shop.post("o-1", {}, target)).replayed, replayed);
      }
      await count(shop, 2);
    },
    { tenant: (request) => request.path },
  ),
);

test("a request without a tenant is refused", () =>
  withShop(
    express,
    async (shop) => {
      for (const target of ["/orders", "/orders?tenant="]) {
        const answer = await shop.post("o-1", {}, target);
        const { type } = JSON.parse(answer.text) as { type: string };
        assert.deepEqual([answer.status, type], [400, "/onceward/problems/tenant-missing"]);
      }
      assert.equal(shop.calls, 0);
    },
    // There is no database: it is not asked.
    {
      pool: { connect: () => assert.fail("a connection was lent") },
      tenant: (request) => request.query["tenant"] as string,
    },
  ),
);

test("a database that is away, and a pool without a free connection", async () => {
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  for (const error of [refused, new Error("timeout exceeded when trying to connect")]) {
    const seen: unknown[] = [];
    await withShop(express, (shop) => shop.isProblem("o-1", 503, "unavailable"), {
      pool: { connect: () => Promise.reject(error) },
      onError: (request, reason) => seen.push(request.method, reason),
    });
    assert.deepEqual(seen, ["POST", error]);
  }
});

test("a mistake of the program is not the client's", async () => {
  await withShop(
    express,
    async (shop) => {
      const answer = await shop.post("o-1");
      assert.deepEqual([answer.status, answer.text.includes("ArgumentError")], [500, true]);
    },
    { pool: { connect: () => assert.fail("a connection was lent") }, tenant: () => "a\0b" },
  );
  const wrong = { query: () => Promise.resolve({ rows: [] }) };
  const inbox = new Inbox({ operation: "POST" });
  const claim = (): never => {
    throw new ArgumentError("a defect");
  };
  const client = { ...wrong, on: () => {}, removeListener: () => {}, release: () => {} };
  await withShop(
    express,
    async (shop) => assert.equal((await shop.post("o-1")).status, 500),
    {
      pool: { connect: () => Promise.resolve(client as unknown as pg.PoolClient) },
      inbox: Object.create(inbox, { claim: { value: claim } }) as Inbox,
    },
  );
});

test("an answer that is too large commits nothing", needsDatabase, () =>
  withShop(express, async (shop) => {
    shop.then = (response) => response.set("X-Large", "1").send("x".repeat(70_000));
    const answer = await shop.post("o-1");
    assert.deepEqual([answer.status, answer.headers.get("X-Large")], [500, null]);
    assert.match(answer.text, /ResultTooLargeError/);
    await count(shop, 0);
  }),
);

test("a request that is too large, and a ledger without an inbox", needsDatabase, async () => {
  await withShop(express, (shop) => shop.isProblem("o-1", 413, "body-too-large", "x".repeat(100)), {
    maxRequestBytes: 99,
  });
  await withShop(
    express,
    async (shop) => {
      // Without a length it is read until it is too large.
      let left = 12;
      const pieces = new ReadableStream({
        pull: (controller) =>
          left-- > 0 ? controller.enqueue(Buffer.alloc(10)) : controller.close(),
      });
      const answer = await shop.send("POST", "/orders", "o-1", pieces);
      assert.deepEqual([answer.status, answer.headers.get("Connection")], [413, "close"]);
      assert.equal((await shop.post("o-1", {})).status, 201);
    },
    { maxRequestBytes: 99 },
  );
  const inbox = new Inbox({ operation: "POST", ledger: "typescript none" });
  await withShop(
    express,
    async (shop) => {
      assert.match((await shop.post("o-1")).text, /LedgerError/);
      assert.equal(shop.calls, 0);
    },
    { inbox },
  );
});

test("a refusal after a statement failed is stored, a success is not", needsDatabase, () =>
  withShop(express, async (shop) => {
    let status = 201;
    shop.then = async (response, request) => {
      await request.onceward!.client.query("SELECT 1 / 0").catch(() => {});
      response.status(status).json({ calls: shop.calls });
    };
    assert.equal((await shop.post("o-1")).status, 500);
    status = 409;
    for (const replayed of [null, "true"]) {
      const answer = await shop.post("o-1");
      assert.deepEqual([answer.status, answer.text], [409, '{"calls":2}']);
      assert.equal(answer.replayed, replayed);
    }
    await count(shop, 0);
  }),
);

test("a handler that never ends gives its connection back", needsDatabase, async () => {
  const ledger = fresh("ledger");
  await pool.query("SELECT onceward.register_ledger($1, longest_request => '100 ms')", [ledger]);
  const inbox = new Inbox({ operation: fresh("POST"), ledger });
  const small = makePool({ max: 1 });
  try {
    await withShop(
      express,
      async (shop) => {
        shop.then = () => new Promise(() => {});
        void shop.post("o-1").catch(() => {});
        await sleep(300);
        assert.equal(small.totalCount, 0);
        shop.then = (response) => response.sendStatus(204);
        assert.equal((await shop.post("o-1")).status, 204);
        await count(shop, 1);
      },
      { inbox, pool: small },
    );
  } finally {
    await small.end();
  }
});

test("a key whose result is not kept", needsDatabase, async () => {
  const ledger = fresh("ledger");
  await pool.query("SELECT onceward.register_ledger($1, stores_results => false)", [ledger]);
  const inbox = new Inbox({ operation: fresh("POST"), ledger });
  await inbox.claim(await taken(), "o-1", {});
  await withShop(express, (shop) => shop.isProblem("o-1", 410, "answer-gone"), { inbox });
  async function taken(): Promise<pg.PoolClient> {
    const client = await pool.connect();
    setImmediate(() => void client.query("SELECT 1").then(() => client.release()));
    return client;
  }
});

test(
  "after a parser that kept nothing the middleware refuses to guess",
  needsDatabase,
  async () => {
    const app = express();
    const inbox = new Inbox({ operation: fresh("POST"), ledger: "typescript_table" });
    const verify = (request: object, _: unknown, bytes: Buffer): void => {
      Object.assign(request, { rawBody: bytes });
    };
    app.post("/bare", express.json(), idempotent({ pool, inbox }));
    app.post("/kept", express.json({ verify }), idempotent({ pool, inbox }));
    app.use((_request, response) => void response.sendStatus(204));
    const failed: express.ErrorRequestHandler = (error: Error, _request, response, _next) =>
      void response.status(500).send(error.message);
    app.use(failed);
    const server = app.listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const headers = { "Idempotency-Key": "k", "Content-Type": "application/json" };
      const ask = (path: string) => fetch(url + path, { method: "POST", headers, body: "{}" });
      assert.match(await (await ask("/bare")).text(), /before express.json/);
      assert.equal((await ask("/kept")).status, 204);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
);
