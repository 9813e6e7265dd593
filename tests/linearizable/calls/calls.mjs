// As once.cc, with the inbox's TypeScript package: DSN LEDGER OPERATION KIND TABLE.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

import { Inbox, once } from "../../../inbox/typescript/dist/src/index.js";

const inboxPackage = new URL("../../../inbox/typescript/package.json", import.meta.url);
const pg = createRequire(inboxPackage)("pg");
const [dsn, ledger, operation, kind, table] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: dsn, max: 1 });

const takeEffect = once(
  { mode: "inside", pool, inbox: new Inbox({ operation, kind, ledger }), key: "key" },
  async (tx, { key, value }) => {
    await tx.query(`INSERT INTO ${table} VALUES ($1, $2)`, [key, value]);
    return { value };
  },
);

for await (const line of createInterface({ input: process.stdin })) {
  const [key, text] = line.split(" ");
  const value = Number(text);
  const stored = (await takeEffect({ key, value })).value;
  // No two calls have the same value.
  console.log(stored === value ? "fresh" : "duplicate", stored);
}
await pool.end();
