// Against the real front door, which tests/integration/clients/ of the project starts. It has a row
// for each order in the end, and counts them there: each `id` is to be there once.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  Client,
  ConnectionFailedError,
  FileStore,
  KeyReusedError,
  mintKey,
  RejectedError,
} from "../src/index.js";
import { withLosingProxy } from "./losing_proxy.js";

const door = process.env["ONCEWARD_FRONT_DOOR"] ?? "";
const skip = door === "" ? "ONCEWARD_FRONT_DOOR names no front door" : false;
const newOrder = (): string => `/orders/typescript-${mintKey()}`;
const json = { amount: 1 };

test("an order is taken and its repeat is a replay", { skip }, async () => {
  const client = new Client(door);
  const [key, path] = [mintKey(), newOrder()];
  const first = await client.request("POST", path, { json, key });
  const again = await client.request("POST", path, { json, key });
  assert.deepEqual([first.status, first.replayed], [204, false]);
  assert.deepEqual([again.status, again.replayed], [204, true]);
  assert.equal(first.headers.get("Idempotency-Key"), `"${key}"`);
});

test("a lost answer is repeated", { skip }, () =>
  withLosingProxy(door, async (url) => {
    const answer = await new Client(url).request("POST", newOrder(), { json });
    assert.deepEqual([answer.status, answer.replayed, answer.attempts], [204, true, 2]);
  }));

test("a restarted caller gets the first answer", { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "onceward-client-"));
  const options = { retries: { attempts: 1 }, store: new FileStore(folder) };
  const path = newOrder();
  const call = { json, operation: "order-7" };
  await withLosingProxy(door, async (url) => {
    const lost = new Client(url, options).request("POST", path, call);
    await assert.rejects(lost, ConnectionFailedError);
  });
  const answer = await new Client(door, options).request("POST", path, call);
  assert.deepEqual([answer.status, answer.replayed], [204, true]);
  assert.deepEqual(await readdir(folder), []);
  await rm(folder, { recursive: true });
});

test("while the first runs the second waits", { skip }, async () => {
  const [key, path] = [mintKey(), newOrder()];
  const order = (): ReturnType<Client["request"]> =>
    new Client(door).request("POST", path, { json: { ...json, kind: "slow" }, key });
  const answers = await Promise.all([order(), order()]);
  assert.deepEqual(answers.map((answer) => answer.replayed).sort(), [false, true]);
  assert.ok(Math.max(...answers.map((answer) => answer.attempts)) >= 2);
});

test("a key for something else is refused, a rejected one goes on", { skip }, async () => {
  const client = new Client(door);
  const [key, path] = [mintKey(), newOrder()];
  const misfit = client.request("POST", path, { json: { amount: "much" }, key });
  await assert.rejects(misfit, RejectedError);
  await client.request("POST", path, { json, key });
  const reused = client.request("POST", path, { json: { amount: 2 }, key });
  await assert.rejects(reused, (error: unknown) => {
    assert.ok(error instanceof KeyReusedError && error.settled);
    assert.equal(error.problem?.name, "key-reused");
    return true;
  });
});

test("who asks too often waits", { skip }, async () => {
  const client = new Client(door);
  const [key, path] = [mintKey(), `/limited/typescript-${mintKey()}`];
  const first = await client.request("POST", path, { json, key });
  let again = await client.request("POST", path, { json, key });
  // On a slow machine a request may come so late that it has not to wait.
  for (let more = 8; more > 0 && again.attempts === 1; --more) {
    again = await client.request("POST", path, { json, key });
  }
  assert.deepEqual([first.attempts, again.attempts >= 2, again.replayed], [1, true, true]);
});

test("an event goes to the log", { skip }, async () => {
  const answer = await new Client(door).request("POST", "/events", { json });
  assert.deepEqual([answer.status, answer.replayed], [202, false]);
});
