// What a client does with each answer: on a scripted server.

import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";

import {
  Answer,
  Client,
  ConnectionFailedError,
  KeyInFlightError,
  KeyRefusedError,
  KeyReusedError,
  NotAuthorizedError,
  OncewardError,
  ProblemError,
  RejectedError,
  ServerError,
  TooManyRequestsError,
  type Options,
  type Store,
} from "../src/index.js";
import * as scripted from "./scripted_server.js";
import { problem, withServer, type Reply, type ScriptedServer } from "./scripted_server.js";

const quick: Options = { retries: { attempts: 4, inFlightWaits: 3, backoff: 10 } };
const uuid4 = /^"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$/;

function ask(server: ScriptedServer, options = quick, key?: string): Promise<Answer> {
  const call = { json: { amount: "1.50" }, ...(key === undefined ? {} : { key }) };
  return new Client(server.url, options).request("POST", "/orders/7?a=b", call);
}

async function raised<E extends OncewardError>(
  call: Promise<unknown>,
  kind: abstract new (...values: never[]) => E,
): Promise<E> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof kind, `${kind.name} expected, not ${String(error)}`);
  return error;
}

const transient: [string, Reply][] = [
  ["409 in flight", scripted.inFlight],
  ["503", scripted.unavailable],
  ["a cut connection", scripted.cut],
  ["a cut head", scripted.cutInHead],
  ["a cut body", scripted.cutInBody],
  ["500", { status: 500 }],
  ["408", { status: 408 }],
  ["425", { status: 425 }],
  ["429", { status: 429 }],
];
for (const [name, first] of transient) {
  test(`the key stays over retries: ${name}`, () =>
    withServer([first, first, scripted.replayed], async (server) => {
      const answer = await ask(server);
      assert.deepEqual(
        [answer.status, answer.json(), answer.replayed, answer.attempts],
        [201, { id: 7 }, true, 3],
      );
      assert.equal(server.keys.length, 3);
      assert.equal(new Set(server.keys).size, 1);
      assert.match(server.keys[0] ?? "", uuid4);
      assert.equal(server.keys[0], `"${answer.key}"`);
      for (const seen of server.seen) {
        assert.deepEqual([seen.target, seen.body], ["/orders/7?a=b", '{"amount":"1.50"}']);
      }
    }));
}

test("the path of the base is kept, and the fingerprint is the same in all languages", () =>
  withServer([{}], async (server) => {
    const prints: string[] = [];
    const store: Store = {
      claim: async (made) => (prints.push(made.fingerprint), made),
      forget: async () => {},
      entries: async () => [],
    };
    const client = new Client(`${server.url}/api/`, { ...quick, store });
    const call = { json: { amount: "1.50" }, operation: "order-7" };
    await client.request("POST", "/orders/7?a=b", call);
    assert.equal(server.seen[0]?.target, "/api/orders/7?a=b");
    assert.deepEqual(prints, ["62eeaf2c54b0008c66eba9b462238ab60d0fbb8ede8f47071ab1a761e5c8a3fd"]);
  }));

test("a target that is no path is refused", () =>
  withServer([{}], async (server) => {
    for (const target of ["//other.example/x", "http://other.example/x", "orders", ""]) {
      await assert.rejects(new Client(server.url, quick).request("POST", target), RangeError);
    }
    assert.equal(server.seen.length, 0);
  }));

test("each operation has a key of its own", () =>
  withServer([{}], async (server) => {
    assert.equal((await ask(server)).replayed, false);
    await ask(server);
    assert.equal(new Set(server.keys).size, 2);
  }));

const refusals: [Reply, typeof ProblemError, boolean][] = [
  [problem(422, "key-reused"), KeyReusedError, true],
  [problem(422, "rejected"), RejectedError, true],
  [problem(400, "key-malformed"), KeyRefusedError, true],
  [problem(401, "token-missing"), NotAuthorizedError, true],
  [{ status: 404 }, ProblemError, true],
  // Another's: nobody says that it is in flight.
  [{ status: 409 }, ProblemError, false],
  [{ status: 500, headers: { "Idempotent-Replayed": "true" } }, ServerError, true],
];
for (const [reply, kind, settled] of refusals) {
  test(`a refusal is raised at once: ${reply.status} ${kind.name}`, () =>
    withServer([reply], async (server) => {
      const error = await raised(ask(server), kind);
      assert.equal(server.seen.length, 1);
      assert.deepEqual([error.attempts, error.settled, error.status], [1, settled, reply.status]);
      assert.equal(server.keys[0], `"${error.key}"`);
    }));
}

test("a problem is parsed", () =>
  withServer([problem(422, "rejected", { detail: "No such item.", item: 7 })], async (server) => {
    const error = await raised(ask(server), RejectedError);
    assert.equal(error.problem?.name, "rejected");
    assert.equal(error.problem?.detail, "No such item.");
    assert.deepEqual(error.problem?.extensions, { item: 7 });
    assert.equal(error.message, "422: rejected: rejected: No such item.");
  }));

const endless: [Reply, abstract new (...values: never[]) => OncewardError, number][] = [
  [scripted.inFlight, KeyInFlightError, 4],
  [scripted.unavailable, ServerError, 4],
  [scripted.cut, ConnectionFailedError, 4],
  [{ status: 429 }, TooManyRequestsError, 4],
  // Too long to wait for.
  [{ status: 429, headers: { "Retry-After": "3600" } }, TooManyRequestsError, 1],
];
for (const [reply, kind, attempts] of endless) {
  test(`the tries end and the outcome is open: ${kind.name} after ${attempts}`, () =>
    withServer([reply], async (server) => {
      const error = await raised(ask(server), kind);
      assert.deepEqual([error.attempts, server.seen.length], [attempts, attempts]);
      assert.equal(error.settled, false);
    }));
}

test("after a doubt a refusal settles nothing", () =>
  withServer([scripted.cut, { status: 401 }], async (server) => {
    assert.equal((await raised(ask(server), NotAuthorizedError)).settled, false);
  }));

test("an attempt that takes too long is one that failed", () =>
  withServer([{}], async (server) => {
    let held = false;
    server.onRequest = async () => {
      if (held) return;
      held = true;
      await new Promise((done) => setTimeout(done, 1000));
    };
    assert.equal((await ask(server, { ...quick, timeout: 200 })).attempts, 2);
  }));

test("a server that is not there was not asked", async () => {
  const nobody = createServer();
  await new Promise<void>((done) => nobody.listen(0, "127.0.0.1", done));
  const { port } = nobody.address() as AddressInfo;
  await new Promise((done) => nobody.close(done));
  const call = new Client(`http://127.0.0.1:${port}`, quick).request("POST", "/");
  assert.equal((await raised(call, ConnectionFailedError)).attempts, 4);
});

test("it waits as long as the server asks", () =>
  withServer([problem(409, "key-in-flight", {}, "1"), scripted.replayed], async (server) => {
    const begun = performance.now();
    await ask(server);
    assert.ok(performance.now() - begun >= 1000);
  }));

test("the caller may end a call while it waits", () =>
  withServer([problem(409, "key-in-flight", {}, "30")], async (server) => {
    const controller = new AbortController();
    server.onRequest = () => void setTimeout(() => controller.abort(), 50);
    const call = new Client(server.url, quick).request("POST", "/", { signal: controller.signal });
    await assert.rejects(call, { name: "AbortError" });
    assert.equal(server.seen.length, 1);
  }));

test("a key of the caller's is sent as it is", () =>
  withServer([{}], async (server) => {
    const warn = (text: string): void => assert.fail(text);
    const options = { ...quick, bareKeys: true, keyHeader: "X-Key", warn };
    await ask(server, options, "f3b1c9d0a7e84562");
    assert.equal(server.seen[0]?.headers["x-key"], "f3b1c9d0a7e84562");
  }));

test("a weak key is warned of", () =>
  withServer([{}], async (server) => {
    const said: string[] = [];
    await ask(server, { ...quick, warn: (text) => said.push(text) }, "17");
    assert.match(said.join(), /weak idempotency key: it is a number/);
  }));

test("what cannot be sent is an error of the caller's", () =>
  withServer([{}], async (server) => {
    const client = new Client(server.url, quick);
    await assert.rejects(client.request("POST", "/", { key: "a, b" }), /printable/);
    await assert.rejects(client.request("POST", "/", { operation: "order-7" }), /store/);
    const headers = { "idempotency-key": "a" };
    await assert.rejects(client.request("POST", "/", { headers }), /own/);
    await assert.rejects(client.request("POST", "/", { headers: { "a b": "" } }), TypeError);
    assert.equal(server.seen.length, 0);
  }));
