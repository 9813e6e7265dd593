// once() in both modes: times, wrong arguments, versions, rights.

import assert from "node:assert/strict";
import type { PoolClient } from "pg";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import {
  ArgumentError,
  ExpiredError,
  Failed,
  Inbox,
  VersionError,
  inTransaction,
  mintedAtOfUuid7,
  once,
  uuid7,
} from "../src/index.js";
import { effects, fresh, makePool, needsDatabase, prepare } from "./database.js";
import { inside, order, outside, payer, pool, type Order } from "./orders.js";

before(() => (needsDatabase.skip === undefined ? prepare(pool) : undefined));
after(() => pool.end());

test("a key from before the ledger's memory has expired", needsDatabase, async () => {
  const operation = fresh("pay");
  const ledger = fresh("ledger");
  await pool.query("SELECT onceward.register_ledger($1)", [ledger]);
  await pool.query(
    "UPDATE onceward.ledgers SET memory_begins = now() - interval '1 hour' WHERE name = $1",
    [ledger],
  );
  const inbox = new Inbox({ operation, ledger });
  const pay = once(inside(operation, { inbox, mintedAt: mintedAtOfUuid7 }), payer(operation));
  await assert.rejects(
    pay({ id: "00000000-0000-7000-8000-000000000000", amount: 5 }),
    ExpiredError,
  );
  await pay({ id: uuid7(), amount: 5 });
  await assert.rejects(pay({ id: "not a uuid", amount: 5 }), ArgumentError);
  assert.equal(await effects(pool, operation), 1);
});

test("wrong arguments, another version, and a pool as the transaction", needsDatabase, async () => {
  const operation = fresh("pay");
  const pay = once(inside(operation, { key: () => 7 as unknown as string }), payer(operation));
  await assert.rejects(pay(order), ArgumentError);
  await assert.rejects(
    once(inside(operation, { key: "none" }), payer(operation))(order),
    ArgumentError,
  );
  const inbox = new Inbox({ operation, ledger: "typescript_table" });
  await assert.rejects(inbox.claim(pool as unknown as PoolClient, "k"), ArgumentError);
  await assert.rejects(
    once(
      inside(operation, { inbox: inbox.with({ schema: "typescript none" }) }),
      payer(operation),
    )(order),
    (error) => error instanceof VersionError && /version 0 .* needs 1: run/.test(error.message),
  );
  await pool.query("CREATE SCHEMA IF NOT EXISTS typescript_later");
  await pool.query(
    `CREATE OR REPLACE FUNCTION typescript_later.inbox_version() RETURNS integer
      LANGUAGE sql AS 'SELECT 2'`,
  );
  await assert.rejects(
    once(
      inside(operation, { inbox: inbox.with({ schema: "typescript_later" }) }),
      payer(operation),
    )(order),
    (error) => error instanceof VersionError && /version 2 .* needs 1: upgrade/.test(error.message),
  );
  await pool.query("DROP SCHEMA typescript_later CASCADE");
  assert.equal(await effects(pool, operation), 0);
});

test("a COMMIT that answers with ROLLBACK is an error", needsDatabase, async () => {
  const swallowed = inTransaction(pool, (client) => client.query("SELECT 1 / 0").catch(() => {}));
  await assert.rejects(swallowed, { name: "InboxError", sqlstate: "25P02" });
});

test("a role with a grant and no right on tables", needsDatabase, async (context) => {
  const role = fresh("role").replaceAll(" ", "_");
  const operation = fresh("pay");
  try {
    await pool.query(`CREATE ROLE ${role}`);
  } catch (error) {
    if ((error as { code?: string }).code !== "42501") throw error;
    return context.skip("the user may not create roles");
  }
  const asRole = makePool({ options: `-c role=${role}` });
  try {
    for (const ledger of ["typescript_table", "typescript_lease"]) {
      await pool.query("SELECT onceward.grant_inbox($1, $2, $3)", [role, ledger, operation]);
    }
    await pool.query(`GRANT INSERT ON typescript_effects TO ${role}`);
    await assert.rejects(asRole.query("SELECT FROM onceward.ledgers"), { code: "42501" });
    const pay = once(inside(operation, { pool: asRole }), payer(operation));
    assert.deepEqual(await pay(order), await pay(order));
    let calls = 0;
    const options = outside(operation, { pool: asRole, hold: 100 });
    const charge = once(options, async (_: string, { amount }: Order) => {
      calls += 1;
      await sleep(150);
      if (amount === 0) throw new Failed(402);
      return amount;
    });
    assert.deepEqual([await charge(order), await charge(order)], [5, 5]);
    await assert.rejects(charge({ id: "failed", amount: 0 }), Failed);
    assert.equal(calls, 2);
    const { inbox } = inside(operation);
    const leases = options.inbox;
    const client = await asRole.connect();
    try {
      await client.query("BEGIN");
      await inbox.finishMany(client, await inbox.claimMany(client, ["a", "b"]), 200);
      const lease = await leases.lease(client, "released");
      assert.equal(await leases.releaseLease(client, lease), true);
      await client.query("COMMIT");
      await client.query("BEGIN");
      const other = inbox.with({ operation: "another" });
      await assert.rejects(other.claim(client, "k"), {
        name: "NotAllowedError",
        sqlstate: "OW003",
      });
      await client.query("ROLLBACK");
    } finally {
      client.release();
    }
    assert.equal(await effects(pool, operation), 1);
  } finally {
    await asRole.end();
    for (const ledger of ["typescript_table", "typescript_lease"]) {
      await pool.query("SELECT onceward.revoke_inbox($1, $2, $3)", [role, ledger, operation]);
    }
    await pool.query(`DROP OWNED BY ${role}`);
    await pool.query(`DROP ROLE ${role}`);
  }
});
