// Orders that are paid once, and cards that are charged once:
//
//   DATABASE_URL=postgresql://postgres@127.0.0.1/test node dist/examples/pay.js

import pg, { type PoolClient } from "pg";
import { Failed, Inbox, once } from "onceward-inbox";

interface Order {
  id: string;
  amount: number;
}

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
await pool.query("SELECT onceward.register_ledger('payments')"); // by the owner, once
await pool.query("SELECT onceward.register_ledger('calls', 'lease')");
await pool.query("CREATE TABLE IF NOT EXISTS typescript_payments (order_id text, amount numeric)");

// In one transaction: the key, the row, and what the function returns.
const pay = once(
  { mode: "inside", pool, inbox: new Inbox({ operation: "pay", ledger: "payments" }), key: "id" },
  async (tx: PoolClient, order: Order) => {
    if (order.amount <= 0) throw new Failed(422, { reason: "an amount is positive" });
    await tx.query("INSERT INTO typescript_payments VALUES ($1, $2)", [order.id, order.amount]);
    return { paid: order.amount };
  },
);

// Under a lease: the other system gets the downstream key with each call.
const charge = once(
  { mode: "outside", pool, inbox: new Inbox({ operation: "charge", ledger: "calls" }), key: "id" },
  async (downstreamKey: string, order: Order) => {
    console.log("  POST /charges with an Idempotency-Key of", downstreamKey.length, "characters");
    return { charged: order.amount };
  },
);

const order = { id: `order-${process.pid}-${Date.now()}`, amount: 5 };
for (const call of ["first", "second"]) {
  console.log(call, await pay(order), await charge(order));
}
const count = "SELECT count(*) FROM typescript_payments WHERE order_id = $1";
const { rows } = await pool.query(count, [order.id]);
console.log("rows:", rows[0].count);
await pool.end();
