// What needs no database.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PoolClient } from "pg";

import {
  ArgumentError,
  BusyError,
  Failed,
  Inbox,
  InboxError,
  LedgerError,
  isRetryable,
  mintedAtOfUuid7,
  once,
  uuid7,
  type Claim,
} from "../src/index.js";
import { translated } from "../src/errors.js";
import { bytesOf } from "../src/values.js";

test("a UUID of version 7 has its time, as text and as bytes", () => {
  const before = Date.now();
  const keys = Array.from({ length: 100 }, uuid7);
  assert.equal(new Set(keys).size, 100);
  for (const key of keys) {
    assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const minted = mintedAtOfUuid7(key)!.getTime();
    assert.ok(minted >= before && minted <= Date.now());
  }
  // The example of RFC 9562, A.6.
  const example = mintedAtOfUuid7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");
  assert.equal(example?.toISOString(), "2022-02-22T19:22:22.000Z");
  const bytes = Buffer.from("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");
  for (const one of [bytes, new Uint8Array(bytes)]) {
    assert.equal(mintedAtOfUuid7(one)?.toISOString(), "2022-02-22T19:22:22.000Z");
  }
  const random = "919108f7-52d1-4320-9bac-f847db4148a8";
  for (const other of ["", "k", random, Buffer.from(random), Buffer.from([0xff])]) {
    assert.equal(mintedAtOfUuid7(other), undefined);
  }
});

test("which errors are retryable", () => {
  const fromServer = (code: string): object => ({ code, severity: "ERROR" });
  for (const code of ["40001", "40P01", "55P03", "25P03", "57P01", "57P05", "08006"]) {
    assert.ok(isRetryable(fromServer(code)), code);
    assert.ok(isRetryable(translated(fromServer(code))), code);
  }
  for (const code of ["23505", "OW001", "42501", "25P02"]) {
    assert.ok(!isRetryable(fromServer(code)), code);
  }
  assert.ok(isRetryable(new BusyError("busy", { sqlstate: "55P03" })));
  assert.ok(isRetryable(Object.assign(new Error("reset"), { code: "ECONNRESET" })));
  assert.ok(isRetryable(new Error("Connection terminated unexpectedly")));
  for (const other of [new Error("other"), new Failed(402), undefined, null, "text", 5]) {
    assert.ok(!isRetryable(other));
  }
});

test("an error has its SQLSTATE and its cause", () => {
  const cause = { code: "OW002", severity: "ERROR", message: "no inbox", hint: "Make it" };
  const error = translated(cause);
  assert.ok(error instanceof LedgerError && error instanceof InboxError);
  assert.deepEqual(
    [error.name, error.sqlstate, error.message, error.cause],
    ["LedgerError", "OW002", "no inbox. Make it", cause],
  );
  const other = { code: "23505", severity: "ERROR" };
  assert.equal(translated(other), other);
});

test("wrong types are refused before anything is sent", async () => {
  const tx = { query: () => assert.fail("it was sent") } as unknown as PoolClient;
  const inbox = new Inbox({ operation: "pay" });
  const claim = { digest: "d", attempt: "a", fresh: true } as Claim;
  const wrong: [string, () => Promise<unknown>][] = [
    ["number", () => inbox.claim(tx, 7 as never)],
    ["null", () => inbox.claim(tx, null as never)],
    ["half a surrogate pair", () => inbox.claim(tx, "k\uD800")],
    ["attempt", () => inbox.claim(tx, "k", { attempt: "x" })],
    ["uuid", () => inbox.claim(tx, "k", { fingerprint: { uuid: "x" } })],
    ["fingerprint", () => inbox.claim(tx, "k", { fingerprint: 5 as never })],
    ["no time", () => inbox.claim(tx, "k", { mintedAt: new Date(NaN) })],
    ["no offset", () => inbox.claim(tx, "k", { mintedAt: "2026-01-01T00:00:00" })],
    ["keys", () => inbox.claimMany(tx, "k" as never)],
    ["a key of many", () => inbox.claimMany(tx, ["k", undefined as never])],
    ["hold", () => inbox.lease(tx, "k", { hold: 1.5 })],
    ["status", () => inbox.finish(tx, claim, { status: "200" as never })],
    ["headers", () => inbox.finish(tx, claim, { headers: { a: "b" } as never })],
    ["body", () => inbox.finish(tx, claim, { body: {} as never })],
    ["half a pair in a body", () => inbox.finish(tx, claim, { body: "b\uDC00" })],
    ["half a pair in a fingerprint", () => inbox.claim(tx, "k", { fingerprint: "\uD800f" })],
    ["half a pair among many", () => inbox.claimMany(tx, ["k"], { fingerprints: ["\uD800"] })],
    ["transaction", () => inbox.claim(undefined as never, "k")],
  ];
  for (const [name, call] of wrong) {
    await assert.rejects(call(), (error) => error instanceof ArgumentError, name);
  }
  assert.throws(() => new Inbox({ operation: undefined as never }), ArgumentError);
  assert.throws(() => new Inbox({ operation: "pay", tenant: 5 as never }), ArgumentError);
  assert.throws(() => new Inbox({ operation: "" }), ArgumentError);
  assert.throws(() => inbox.with({ kind: "" }), ArgumentError);
  assert.equal(bytesOf("\u{1F600}").toString("hex"), "f09f9880", "a whole pair is taken");
  for (const name of ["operation", "kind", "tenant", "ledger", "schema"]) {
    assert.throws(() => new Inbox({ operation: "pay", [name]: "a\0b" }), ArgumentError, name);
    assert.throws(() => inbox.with({ [name]: "a\0b" }), ArgumentError, name);
  }
});

test("many claims are finished in a time that grows with their number", async () => {
  let digests = 0;
  const query = ({ text, values }: { text: string; values?: unknown[] }): unknown => {
    if (text.includes("finish_many")) digests += (values![0] as unknown[]).length;
    return Promise.resolve({ rows: [{ version: "1", yes: "t" }] });
  };
  const claim = { digest: "d", attempt: "a", fresh: true } as Claim;
  const claims = Array.from({ length: 100_000 }, () => claim);
  const before = Date.now();
  await new Inbox({ operation: "pay" }).finishMany({ query } as unknown as PoolClient, claims);
  assert.equal(digests, 100_000);
  // Some milliseconds; it was minutes while each claim copied the list.
  assert.ok(Date.now() - before < 3000);
});

test("a tenant that is missing is refused before anything is sent", async () => {
  const pool = { connect: () => assert.fail("a connection was lent") } as never;
  const inbox = new Inbox({ operation: "pay", tenant: "t" });
  for (const missing of [undefined, null, ""]) {
    const options = { pool, inbox, key: () => "k", tenant: () => missing as string };
    const inside = once({ mode: "inside", ...options }, () => assert.fail("it ran"));
    const outside = once({ mode: "outside", ...options }, () => assert.fail("it ran"));
    await assert.rejects(inside(), ArgumentError);
    await assert.rejects(outside(), ArgumentError);
  }
  assert.throws(() => inbox.with({ tenant: undefined as never }), ArgumentError);
});

test("a ledger that is not named is that of the SQL functions", async () => {
  const seen: unknown[] = [];
  const query = ({ text, values }: { text: string; values?: unknown[] }): unknown => {
    const at = /ledger => \$(\d+)/.exec(text)?.[1];
    if (at !== undefined) seen.push(values![Number(at) - 1]);
    return Promise.resolve({ rows: [{ version: "1", yes: "t", outcome: "fresh" }] });
  };
  const tx = { query } as unknown as PoolClient;
  const unnamed = new Inbox({ operation: "pay" });
  for (const inbox of [unnamed, unnamed.with({ ledger: "l" })]) {
    const claim = await inbox.claim(tx, "k");
    await inbox.finish(tx, claim);
    await inbox.claimMany(tx, ["k"]);
    await inbox.finishMany(tx, [claim]);
    const lease = await inbox.lease(tx, "k");
    await inbox.extendLease(tx, lease);
    await inbox.endLease(tx, lease);
    await inbox.releaseLease(tx, lease);
  }
  const own = [...Array<string>(4).fill("inbox"), ...Array<string>(4).fill("inbox_leases")];
  assert.deepEqual(seen, [...own, ...Array<string>(8).fill("l")]);
});

test("an inbox does not change", () => {
  const inbox = new Inbox({ operation: "pay" });
  assert.deepEqual(
    { ...inbox },
    {
      operation: "pay",
      kind: "id",
      tenant: "",
      ledger: "",
      schema: "onceward",
    },
  );
  assert.throws(() => Object.assign(inbox, { tenant: "t" }), TypeError);
  assert.deepEqual([inbox.with({ tenant: "t" }).tenant, inbox.tenant], ["t", ""]);
});
