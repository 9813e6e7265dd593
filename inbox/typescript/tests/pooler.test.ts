// Through PgBouncer in transaction mode: a transaction may be in another session than the last.

import assert from "node:assert/strict";
import pg from "pg";
import { after, before, test } from "node:test";

import { Inbox, inTransaction } from "../src/index.js";
import { fresh, makePool, prepare, settings } from "./database.js";

const dsn = process.env["ONCEWARD_TEST_POOLER_DSN"] ?? "";
const needsPooler = dsn === "" ? { skip: "ONCEWARD_TEST_POOLER_DSN is not set" } : {};
const direct = makePool();

before(() => (dsn === "" ? undefined : prepare(direct)));
after(() => direct.end());

/** Every call of the inbox, in several transactions. */
async function allCalls(pool: pg.Pool, operation: string): Promise<void> {
  const inbox = new Inbox({ operation, ledger: "typescript_table" });
  const claim = await inTransaction(pool, async (tx) => {
    const made = await inbox.claim(tx, "k");
    assert.equal(made.outcome, "fresh");
    await inbox.finish(tx, made, { status: 201, body: "done" });
    return made;
  });
  const again = await inTransaction(pool, (tx) =>
    inbox.claim(tx, "k", { attempt: claim.attempt }),
  );
  assert.deepEqual([again.outcome, again.mine, String(again.body)], ["duplicate", true, "done"]);
  await inTransaction(pool, async (tx) => {
    const many = await inbox.claimMany(tx, ["k", "k 2", "k 3"]);
    assert.deepEqual(
      many.map((one) => one.outcome),
      ["duplicate", "fresh", "fresh"],
    );
    await inbox.finishMany(tx, many);
  });
  const leases = inbox.with({ ledger: "typescript_lease" });
  const lease = await inTransaction(pool, (tx) => leases.lease(tx, "k"));
  assert.equal(lease.outcome, "fresh");
  assert.ok(await inTransaction(pool, (tx) => leases.extendLease(tx, lease)));
  assert.ok(await inTransaction(pool, (tx) => leases.endLease(tx, lease, { body: "sent" })));
}

test("through a pooler every call works in any session", needsPooler, async () => {
  const pool = makePool({ ...settings(dsn), max: 1 });
  const pids = new Set<number>();
  const query = `SELECT pg_backend_pid() AS pid, current_setting('lock_timeout') AS lock,
    current_setting('idle_in_transaction_session_timeout') AS idle,
    current_setting('synchronous_commit') AS at`;
  try {
    for (let round = 0; round < 4; ++round) {
      // Holds the session that PgBouncer would give next.
      const other = round % 2 === 1 ? new pg.Client(settings(dsn)) : undefined;
      await other?.connect();
      await other?.query("BEGIN");
      await allCalls(pool, fresh("pooled"));
      const { pid, ...left } = (await pool.query(query)).rows[0];
      assert.deepEqual(left, { lock: "0", idle: "0", at: "on" });
      pids.add(pid);
      await other?.query("ROLLBACK");
      await other?.end();
    }
  } finally {
    await pool.end();
  }
  assert.equal(pids.size, 2);
});
