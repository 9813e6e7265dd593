// Functions of a shop, for the tests of once().

import type { PoolClient } from "pg";

import { Inbox, type InsideOptions, type OutsideOptions } from "../src/index.js";
import { effect, makePool } from "./database.js";

export const pool = makePool();

export interface Order {
  id: string;
  amount: number;
}

export function inside(
  operation: string,
  changes: Partial<InsideOptions<[Order]>> = {},
): InsideOptions<[Order]> {
  const inbox = new Inbox({ operation, ledger: "typescript_table" });
  const retries = { pause: 5 };
  const fingerprint = (order: Order): string => String(order.amount);
  return { mode: "inside", pool, inbox, key: "id", fingerprint, retries, ...changes };
}

export function outside(
  operation: string,
  changes: Partial<OutsideOptions<[Order]>> = {},
): OutsideOptions<[Order]> {
  const { retries, fingerprint } = inside(operation);
  const inbox = new Inbox({ operation, ledger: "typescript_lease" });
  return {
    mode: "outside",
    pool,
    inbox,
    key: (order) => order.id,
    fingerprint: fingerprint!,
    retries: retries!,
    ...changes,
  };
}

// A function that pays, and what it was called with.
export function payer(operation: string, then: (order: Order) => unknown = () => undefined) {
  return async (tx: PoolClient, order: Order): Promise<{ paid: number; at: string }> => {
    await effect(tx, operation, order.id);
    await then(order);
    return { paid: order.amount, at: "now" };
  };
}

export const order = { id: "order-7", amount: 5 };
