// The rules apart from any server: keys, verdicts, pauses.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Answer } from "../src/answers.js";
import { checkKey, mintKey, weakness } from "../src/keys.js";
import * as policy from "../src/policy.js";

test("minted keys are strong and different", () => {
  const keys = new Set(Array.from({ length: 1000 }, mintKey));
  assert.equal(keys.size, 1000);
  for (const key of keys) assert.equal(weakness(key), undefined);
});

test("a key of version 7 has its time and is strong", () => {
  const before = Date.now();
  const keys = Array.from({ length: 1000 }, () => mintKey(true));
  assert.equal(new Set(keys).size, 1000);
  for (const key of keys) {
    assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const time = parseInt(key.replace("-", "").slice(0, 12), 16);
    assert.ok(before <= time && time <= Date.now(), key);
    assert.equal(weakness(key), undefined);
  }
});

test("weak keys are known, strong ones are left alone", () => {
  for (const [key, previous] of [
    ["1732295000123"],
    ["order-17"],
    ["a".repeat(36)],
    ["00000000-0000-0000-0000-000000000000"],
    ["payment-of-november-2026-000124", "payment-of-november-2026-000123"],
  ] as [string, string?][]) {
    assert.notEqual(weakness(key, previous), undefined, key);
  }
  const previous = "payment-of-november-2026-000017";
  assert.equal(weakness("payment-of-november-2026-000124", previous), undefined);
  assert.equal(weakness("018f6d6e-7b1c-7cc3-98c4-dc0c", previous), undefined);
});

test("a key that no header can hold is refused", () => {
  for (const key of ["", "a b", "a,b", 'a"b', "a\\b", "a\n", "\u00e4", "a".repeat(256)]) {
    assert.throws(() => checkKey(key), RangeError, key);
  }
});

test("pauses grow up to their bound and are never the same", () => {
  const retries = { ...policy.defaultRetries, backoff: 1000, backoffMax: 5000 };
  const bounds: [number, number][] = [
    [1, 1000],
    [2, 2000],
    [3, 4000],
    [4, 5000],
    [9, 5000],
    [1025, 5000],
    [1e9, 5000],
  ];
  for (const [failures, whole] of bounds) {
    const drawn = new Set(Array.from({ length: 50 }, () => policy.pause(retries, failures)));
    assert.ok(Math.min(...drawn) >= whole / 2 && Math.max(...drawn) <= whole && drawn.size > 40);
  }
  assert.ok(policy.pause(retries, 1, 7000) >= 7500);
  assert.equal(policy.pause({ ...retries, backoff: 0 }, 1e9, 7000), 7000);
  const waited = policy.inFlightPause(retries, 3000);
  assert.ok(waited >= 3000 && waited <= 4000);
  assert.ok(policy.inFlightPause(retries) >= 1000);
});

test("Retry-After is seconds or a date", () => {
  const now = Date.UTC(2026, 10, 22, 12);
  assert.equal(policy.parseRetryAfter("7", now), 7000);
  assert.equal(policy.parseRetryAfter("Sun, 22 Nov 2026 12:00:09 GMT", now), 9000);
  assert.equal(policy.parseRetryAfter("Sun, 22 Nov 2026 11:00:00 GMT", now), 0);
  assert.equal(policy.parseRetryAfter("1, 7,3", now), 7000);
  const dates = "Sun, 22 Nov 2026 12:00:09 GMT, Sun, 22 Nov 2026 12:00:10 GMT";
  for (const text of [null, "", "-1", "soon", "1.5", "1, soon", dates]) {
    assert.equal(policy.parseRetryAfter(text, now), undefined);
  }
});

test("an answer is replayed where every header says so", () => {
  const answer = (...values: string[]): Answer => {
    const headers = new Headers();
    for (const value of values) headers.append("Idempotent-Replayed", value);
    return new Answer(201, headers, new Uint8Array(), "key", 1);
  };
  for (const values of [["true"], ["True"], ["true", "true"]]) {
    assert.ok(answer(...values).replayed);
  }
  for (const values of [[], ["false"], ["true", "false"], ["yes"]]) {
    assert.ok(!answer(...values).replayed);
  }
});

test("what settles an operation", () => {
  for (const [status, replayed, inDoubt, expected] of [
    [200, false, true, true],
    [303, false, false, true],
    [302, false, true, false],
    [303, true, true, true],
    [404, false, false, true],
    [404, false, true, false],
    [404, true, true, true],
    [410, false, true, true],
    [422, false, true, true],
    [409, false, false, false],
    [429, false, false, false],
    [503, false, false, false],
    [500, true, true, true],
  ] as [number, boolean, boolean, boolean][]) {
    assert.equal(policy.settles(status, replayed, inDoubt), expected, String(status));
  }
});
