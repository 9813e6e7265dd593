// once() under a lease.

import assert from "node:assert/strict";
import type { PoolClient } from "pg";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import {
  ConflictError,
  Failed,
  InFlightError,
  Inbox,
  OutcomeUnknownError,
  once,
} from "../src/index.js";
import { fresh, needsDatabase, prepare } from "./database.js";
import { order, outside, pool, type Order } from "./orders.js";

before(() => (needsDatabase.skip === undefined ? prepare(pool) : undefined));
after(() => pool.end());

// Until when the order's lease is held, in milliseconds.
async function leasedUntil(operation: string): Promise<number> {
  const { rows } = await pool.query<{ until: string }>(
    `SELECT extract(epoch FROM lease_until) * 1000 AS until FROM onceward.leases
     WHERE digest = onceward.key_digest($1, '', 'id', $2::text)`,
    [operation, order.id],
  );
  return Number(rows[0]?.until ?? 0);
}

// Ends the time of the order's lease.
async function runOut(operation: string): Promise<void> {
  await pool.query(
    `UPDATE onceward.leases SET lease_until = now() - interval '1 s'
     WHERE digest = onceward.key_digest($1, '', 'id', $2::text)`,
    [operation, order.id],
  );
}

test("outside: Failed is stored", needsDatabase, async () => {
  const operation = fresh("charge");
  let calls = 0;
  const charge = once(outside(operation), (_: string, { id }: Order) => {
    calls += 1;
    throw new Failed(402, id);
  });
  for (let i = 0; i < 2; ++i) await assert.rejects(charge(order), { status: 402, body: "order-7" });
  assert.equal(calls, 1);
});

test("outside: a failure without its result is still a failure", needsDatabase, async () => {
  const operation = fresh("charge");
  const ledger = fresh("leases");
  const text = "SELECT onceward.register_ledger($1, 'lease', stores_results => false)";
  await pool.query(text, [ledger]);
  let calls = 0;
  const inbox = new Inbox({ operation, ledger });
  const charge = once(outside(operation, { inbox }), (_: string, { id }: Order) => {
    calls += 1;
    throw new Failed(402, id);
  });
  for (const body of ["order-7", undefined]) {
    await assert.rejects(charge(order), { status: 402, body });
  }
  assert.equal(calls, 1);
});

test("outside: without honoursKey the outcome is unknown", needsDatabase, async () => {
  const operation = fresh("charge");
  let calls = 0;
  const charge = once(
    outside(operation, { honoursKey: false }),
    (_: string, one: Order) => {
      calls += 1;
      throw new Error(`no answer for ${one.id}`);
    },
  );
  await assert.rejects(charge(order), /no answer/);
  await runOut(operation);
  await assert.rejects(charge(order), OutcomeUnknownError);
  assert.equal(calls, 1);
});

test("outside: a ledger that keeps no results has none for a repeat", needsDatabase, async () => {
  const operation = fresh("charge");
  const ledger = fresh("leases");
  const text = "SELECT onceward.register_ledger($1, 'lease', stores_results => false)";
  await pool.query(text, [ledger]);
  let calls = 0;
  const charge = once(
    outside(operation, { inbox: new Inbox({ operation, ledger }) }),
    (_: string, { amount }: Order) => {
      calls += 1;
      return amount;
    },
  );
  assert.equal(await charge(order), 5);
  await assert.rejects(charge(order), OutcomeUnknownError);
  assert.equal(calls, 1);
});

test("outside: the lease is extended while the function runs", needsDatabase, async () => {
  const operation = fresh("charge");
  let calls = 0;
  const options = outside(operation, { hold: 2000 });
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = async (_: string, { amount }: Order): Promise<number> => {
    calls += 1;
    await ended;
    return amount;
  };
  const first = once(options, work)(order);
  while (calls === 0) await sleep(10);
  const taken = await leasedUntil(operation);
  for (let n = 0; n < 1000 && (await leasedUntil(operation)) === taken; ++n) await sleep(10);
  const second = once({ ...options, wait: 60_000 }, work)(order);
  await assert.rejects(once(options, work)(order), InFlightError).finally(end);
  assert.equal(await second, 5);
  assert.equal(await first, 5);
  assert.equal(calls, 1);
});

test("outside: an extension that failed is tried again before the lease ends", async () => {
  // A database that knows the calls alone: the first extension is lost.
  const hold = 4000;
  let extensions = 0;
  let leased = 0;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const query = async (words: string | { text: string }): Promise<unknown> => {
    const text = typeof words === "string" ? words : words.text;
    const row: Record<string, string> = { outcome: "fresh", version: "1", yes: "t" };
    if (text.includes(".lease(")) leased = Date.now();
    if (text.includes(".extend_lease(") && ++extensions === 1) throw new Error("it was lost");
    if (extensions === 2) end();
    return { command: text, rows: [row] };
  };
  const client = { query, on() {}, removeListener() {}, release() {} } as unknown as PoolClient;
  const charge = once(
    outside("charge", { hold, pool: { connect: async () => client } }),
    (_: string, { amount }: Order) => ended.then(() => amount),
  );
  assert.equal(await charge(order), 5);
  assert.equal(extensions, 2);
  const after = Date.now() - leased;
  assert.ok(after < hold, `the second extension came after ${after} ms`);
});

test("outside: the COMMITs of lease and end are in doubt", needsDatabase, async () => {
  const operation = fresh("charge");
  let calls = 0;
  // Each first COMMIT takes effect, and its answer is lost.
  const lost = new Set<number>();
  let commits = 0;
  const lossy = {
    async connect(): Promise<PoolClient> {
      const client = await pool.connect();
      const number = ++commits;
      if (number % 2 === 0) return client;
      return new Proxy(client, {
        get(target, name): unknown {
          const value: unknown = Reflect.get(target, name, target);
          if (name !== "query") return typeof value === "function" ? value.bind(target) : value;
          return async (...words: unknown[]) => {
            const answer: unknown = await (target.query as (...all: unknown[]) => unknown)(
              ...words,
            );
            if (words[0] !== "COMMIT") return answer;
            lost.add(number);
            throw new Error("Connection terminated unexpectedly");
          };
        },
      });
    },
  };
  const charge = once(outside(operation, { pool: lossy }), (_: string, { amount }: Order) => {
    calls += 1;
    return amount;
  });
  assert.equal(await charge(order), 5);
  assert.equal(calls, 1);
  assert.deepEqual([...lost], [1, 3]);
});

test(
  "outside: a repeat gets the stored value, and the key is the downstream key",
  needsDatabase,
  async () => {
    const operation = fresh("charge");
    const keys: string[] = [];
    const charge = once(outside(operation), (downstreamKey: string, { amount }: Order) => {
      keys.push(downstreamKey);
      return { charged: amount };
    });
    assert.deepEqual(await charge(order), { charged: 5 });
    assert.deepEqual(await charge(order), { charged: 5 });
    assert.equal(keys.length, 1);
    assert.match(keys[0]!, /^[0-9a-f-]{36}$/);
    await assert.rejects(charge({ ...order, amount: 6 }), ConflictError);
  },
);

test(
  "outside: an exception leaves the lease, and the next call has the same key",
  needsDatabase,
  async () => {
    const operation = fresh("charge");
    const keys: string[] = [];
    const work = (downstreamKey: string, { amount }: Order): number => {
      keys.push(downstreamKey);
      if (keys.length === 1) throw new Error("no answer");
      return amount;
    };
    const charge = once(outside(operation, { hold: 60_000 }), work);
    await assert.rejects(charge(order), /no answer/);
    const error: unknown = await charge(order).catch((reason: unknown) => reason);
    assert.ok(error instanceof InFlightError && error.remaining > 0 && error.remaining <= 60_000);
    const waiting = once(outside(operation, { wait: 60_000 }), work)(order);
    await runOut(operation);
    assert.equal(await waiting, 5);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
  },
);
