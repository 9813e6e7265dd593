// Keys over a restart of the caller.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  Answer,
  Client,
  ConnectionFailedError,
  FileStore,
  NotAuthorizedError,
  OncewardError,
  OperationChangedError,
  OperationExpiredError,
  RejectedError,
  ServerError,
  StoreError,
} from "../src/index.js";
import * as scripted from "./scripted_server.js";
import { withServer, type Reply, type ScriptedServer } from "./scripted_server.js";

async function withStore(
  replies: Reply[],
  run: (server: ScriptedServer, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "onceward-client-"));
  try {
    await withServer(replies, (server) => run(server, folder));
  } finally {
    await rm(folder, { recursive: true });
  }
}

// As a process that has just begun would.
function ask(server: ScriptedServer, folder: string, amount = "1.50"): Promise<Answer> {
  const options = { retries: { attempts: 1 }, store: new FileStore(folder) };
  const call = { json: { amount }, operation: "order-7" };
  return new Client(server.url, options).request("POST", "/orders", call);
}

async function onlyFile(folder: string): Promise<string> {
  const [name, ...others] = await readdir(folder);
  assert.ok(name !== undefined && others.length === 0);
  return join(folder, name);
}

test("a key outlives the caller until the outcome is known", () =>
  withStore(
    [scripted.cut, scripted.unavailable, { status: 401 }, scripted.replayed],
    async (server, folder) => {
      for (const kind of [ConnectionFailedError, ServerError, NotAuthorizedError]) {
        const error: unknown = await ask(server, folder).catch((reason: unknown) => reason);
        assert.ok(error instanceof kind && error instanceof OncewardError && !error.settled);
        const entries = await new FileStore(folder).entries();
        assert.deepEqual([entries.length, entries[0]?.key], [1, error.key]);
      }
      assert.ok((await ask(server, folder)).replayed);
      assert.deepEqual(await readdir(folder), []);
      await ask(server, folder);
      assert.equal(new Set(server.keys.slice(0, 4)).size, 1);
      assert.notEqual(server.keys[4], server.keys[0], "an ended operation starts again");
    },
  ));

test("a caller that is killed goes on under its key, which was stored before it was sent", () =>
  withStore([scripted.cut, scripted.replayed], async (server, folder) => {
    const index = new URL("../src/index.js", import.meta.url).href;
    const program = `
      import { Client, FileStore } from ${JSON.stringify(index)};
      const client = new Client(${JSON.stringify(server.url)},
        { store: new FileStore(${JSON.stringify(folder)}) });
      await client.request("POST", "/orders", { json: { amount: "1.50" }, operation: "order-7" });`;
    let stored: (string | undefined)[] = [];
    let asked = (): void => {};
    let goOn = (): void => {};
    const wasAsked = new Promise<void>((done) => (asked = done));
    const mayGoOn = new Promise<void>((done) => (goOn = done));
    server.onRequest = async () => {
      stored = (await new FileStore(folder).entries()).map((entry) => `"${entry.key}"`);
      asked();
      await mayGoOn;
    };
    const caller = spawn(process.execPath, ["--input-type=module", "-e", program]);
    await wasAsked;
    caller.kill("SIGKILL");
    await once(caller, "exit");
    goOn();
    assert.ok((await ask(server, folder)).replayed);
    assert.equal(new Set([...server.keys, ...stored]).size, 1);
  }));

test("a rejected operation may be corrected", () =>
  withStore([{ status: 422 }, { status: 201 }], async (server, folder) => {
    await assert.rejects(ask(server, folder), RejectedError);
    await ask(server, folder, "2");
    assert.equal(new Set(server.keys).size, 2);
  }));

test("another request under an open operation is not sent", () =>
  withStore([scripted.cut], async (server, folder) => {
    await assert.rejects(ask(server, folder), ConnectionFailedError);
    await assert.rejects(ask(server, folder, "2"), OperationChangedError);
    assert.equal(server.seen.length, 1);
  }));

test("a key that no server remembers any more is not sent", () =>
  withStore([scripted.cut, {}], async (server, folder) => {
    await assert.rejects(ask(server, folder), ConnectionFailedError);
    const file = await onlyFile(folder);
    const entry = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    const old = { ...entry, created_at: Date.now() / 1000 - 24 * 3600 };
    await writeFile(file, JSON.stringify(old));
    await assert.rejects(ask(server, folder), OperationExpiredError);
    assert.equal(server.seen.length, 1);
    await new FileStore(folder).forget("order-7", String(entry["key"]));
    assert.equal((await ask(server, folder)).status, 200);
  }));

test("a damaged entry is an error and no new key", () =>
  withStore([scripted.cut, {}], async (server, folder) => {
    await assert.rejects(ask(server, folder), ConnectionFailedError);
    await writeFile(await onlyFile(folder), "{");
    await assert.rejects(ask(server, folder), StoreError);
    assert.equal(server.seen.length, 1);
  }));

test("whatever the disk refuses is a store error", () =>
  withStore([{}], async (_, folder) => {
    await writeFile(join(folder, "file"), "no folder");
    const store = new FileStore(join(folder, "file"));
    const entry = { operation: "order-7", key: "key", fingerprint: "f", createdAt: Date.now() };
    await assert.rejects(store.claim(entry), StoreError);
    await assert.rejects(store.forget("order-7", "key"), StoreError);
    await assert.rejects(store.entries(), StoreError);
  }));

test("an answer is worth more than a store that does not forget", () =>
  withStore([{ status: 201 }], async (server, folder) => {
    const store = new FileStore(folder);
    store.forget = () => Promise.reject(new StoreError("the disk is gone"));
    const warnings: string[] = [];
    const options = { store, warn: (text: string) => void warnings.push(text) };
    const call = { json: {}, operation: "order-7" };
    const answer = await new Client(server.url, options).request("POST", "/orders", call);
    assert.deepEqual([answer.status, warnings.length], [201, 1]);
  }));

test("of many who begin an operation one wins", () =>
  withStore([{}], async (_, folder) => {
    const begin = (number: number): Promise<{ key: string }> =>
      new FileStore(folder).claim({
        operation: "order-7",
        key: `key-${number}`,
        fingerprint: "f",
        createdAt: Date.now(),
      });
    const found = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(begin));
    assert.equal(new Set(found.map((entry) => entry.key)).size, 1);
    const store = new FileStore(folder);
    await store.forget("order-7", "another key");
    await store.forget("order-8", found[0]?.key ?? "");
    assert.equal((await store.entries()).length, 1);
  }));
