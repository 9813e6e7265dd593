// once() in one transaction.

import assert from "node:assert/strict";
import type { PoolClient } from "pg";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { ConflictError, Failed, Inbox, once } from "../src/index.js";
import { CuttingProxy, effect, effects, fresh, needsDatabase, prepare } from "./database.js";
import { inside, order, payer, pool, type Order } from "./orders.js";

before(() => (needsDatabase.skip === undefined ? prepare(pool) : undefined));
after(() => pool.end());

test("inside: a repeat gets the stored value", needsDatabase, async () => {
  const operation = fresh("pay");
  const pay = once(inside(operation), payer(operation));
  const first = await pay(order);
  assert.deepEqual(first, { paid: 5, at: "now" });
  assert.deepEqual(await pay(order), first);
  assert.deepEqual(await once(inside(operation), payer(operation))(order), first);
  assert.equal(await effects(pool, operation), 1);
});

test("inside: another fingerprint is a conflict", needsDatabase, async () => {
  const operation = fresh("pay");
  const pay = once(inside(operation), payer(operation));
  await pay(order);
  await assert.rejects(pay({ ...order, amount: 6 }), ConflictError);
  assert.equal(await effects(pool, operation), 1);
});

test("inside: an exception rolls back, runs once, and frees the key", needsDatabase, async () => {
  const operation = fresh("pay");
  let calls = 0;
  const thrown = Object.assign(new Error("another service broke off"), { code: "ECONNRESET" });
  const pay = once(
    inside(operation),
    payer(operation, () => {
      if (++calls === 1) throw thrown;
    }),
  );
  await assert.rejects(pay(order), thrown);
  assert.equal(calls, 1, "not the database's error, so not repeated");
  assert.equal(await effects(pool, operation), 0);
  await pay(order);
  assert.equal(await effects(pool, operation), 1);
});

test("inside: Failed is stored, and its effects are not", needsDatabase, async () => {
  const operation = fresh("pay");
  let calls = 0;
  const pay = once(
    inside(operation),
    payer(operation, () => {
      calls += 1;
      throw new Failed(402, { reason: "no funds" });
    }),
  );
  for (let i = 0; i < 3; ++i) {
    const error: unknown = await pay(order).catch((reason: unknown) => reason);
    assert.ok(error instanceof Failed);
    assert.deepEqual([error.status, error.body], [402, { reason: "no funds" }]);
  }
  assert.equal(calls, 1);
  assert.equal(await effects(pool, operation), 0);
});

for (const cut of ["before COMMIT arrives", "after COMMIT"] as const) {
  test(`inside: the connection breaks ${cut}`, needsDatabase, async () => {
    const operation = fresh("pay");
    const proxy = await CuttingProxy.start(cut);
    const through = proxy.pool;
    try {
      let calls = 0;
      const work = payer(operation, () => void (calls += 1));
      assert.deepEqual(await once(inside(operation, { pool: through }), work)(order), {
        paid: 5,
        at: "now",
      });
      assert.deepEqual([proxy.cuts, calls], [1, cut === "after COMMIT" ? 1 : 2]);
      assert.equal(await effects(pool, operation), 1);
    } finally {
      await through.end();
      await proxy.stop();
    }
  });
}

test("inside: a backend that ends while the function runs", needsDatabase, async () => {
  const operation = fresh("pay");
  let calls = 0;
  const pay = once(inside(operation), async (tx: PoolClient, { id }: Order) => {
    await effect(tx, operation, id);
    if (++calls < 3) await tx.query("SELECT pg_terminate_backend(pg_backend_pid())");
    return calls;
  });
  assert.equal(await pay(order), 3);
  assert.equal(await effects(pool, operation), 1);
});

test(
  "inside: a serialization failure is repeated, at most as often as allowed",
  needsDatabase,
  async () => {
    const operation = fresh("pay");
    let calls = 0;
    const options = inside(operation, { retries: { tries: 3, pause: 1 } });
    const pay = once(options, async (tx: PoolClient, { id }: Order) => {
      calls += 1;
      await effect(tx, operation, id);
      await tx.query("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$");
    });
    await assert.rejects(pay(order), { code: "40001" });
    assert.equal(calls, 3);
    assert.equal(await effects(pool, operation), 0);
  },
);

test("inside: two calls at once have one effect", needsDatabase, async () => {
  const operation = fresh("pay");
  const pay = once(
    inside(operation),
    payer(operation, () => sleep(50)),
  );
  const answers = await Promise.all([pay(order), pay(order), pay(order)]);
  assert.deepEqual(answers, Array(3).fill({ paid: 5, at: "now" }));
  assert.equal(await effects(pool, operation), 1);
});

test("inside: an error that the function swallowed commits nothing", needsDatabase, async () => {
  const operation = fresh("pay");
  const pay = once(inside(operation), async (tx: PoolClient, { id }: Order) => {
    await effect(tx, operation, id);
    await tx.query("SELECT 1 / 0").catch(() => {});
  });
  await assert.rejects(pay(order), { code: "25P02" });
  assert.equal(await effects(pool, operation), 0);
});

test(
  "inside: a function that leaves its transaction idle for too long",
  needsDatabase,
  async () => {
    const operation = fresh("pay");
    const ledger = fresh("ledger");
    await pool.query("SELECT onceward.register_ledger($1, longest_request => '100 ms')", [ledger]);
    let calls = 0;
    const call = inside(operation, {
      inbox: new Inbox({ operation, ledger }),
      retries: { tries: 2, pause: 1 },
    });
    const pay = once(call, async () => {
      calls += 1;
      await sleep(250);
    });
    await assert.rejects(pay(order), { code: "25P03" });
    assert.equal(calls, 2);
    assert.equal(pool.idleCount, pool.totalCount);
  },
);

test("inside: tenants have keys of their own, and nothing is a value", needsDatabase, async () => {
  const operation = fresh("pay");
  const options = inside(operation, { key: () => "k", tenant: ({ id }) => id });
  const pay = once(options, async (tx: PoolClient, { id }: Order) => effect(tx, operation, id));
  for (const id of ["a", "b", "a"]) assert.equal(await pay({ id, amount: 5 }), undefined);
  assert.equal(await effects(pool, operation), 2);
});
