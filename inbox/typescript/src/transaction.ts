// Transactions on connections that a pool lends, and how they are repeated.

import type { PoolClient } from "pg";
import { setTimeout as sleep } from "node:timers/promises";

import { InboxError, isRetryable, translated } from "./errors.js";

/** What lends connections: a Pool of pg, or anything with the same connect(). */
export interface Lender {
  connect(): Promise<PoolClient>;
}

/** How often a transaction is tried, and the first pause in milliseconds; each next one doubles. */
export interface Retries {
  tries: number;
  pause: number;
}

/** A transaction that is open, on a connection of its own until it ends. */
export class OpenTransaction {
  /** Why the connection broke; undefined if it did not. */
  lost: Error | undefined;
  #ended = false;

  private constructor(readonly client: PoolClient) {
    // Without a listener, a connection that breaks between two statements would end the process.
    client.on("error", this.#onLost);
  }

  static async begin(pool: Lender): Promise<OpenTransaction> {
    const made = new OpenTransaction(await pool.connect());
    try {
      await made.client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    } catch (error) {
      made.#release(error as Error);
      throw made.lost ?? error;
    }
    return made;
  }

  async commit(): Promise<void> {
    let command: string;
    try {
      ({ command } = await this.client.query("COMMIT"));
    } catch (error) {
      throw translated(error);
    }
    this.#release();
    // DANGER: COMMIT of a transaction with an error answers with ROLLBACK, and with no error.
    if (command !== "COMMIT") {
      throw new InboxError("nothing was committed: an earlier statement failed", {
        sqlstate: "25P02",
      });
    }
  }

  /** Does nothing if it has ended. Never throws: what is not committed is rolled back anyway. */
  async rollback(): Promise<void> {
    if (this.#ended) return;
    try {
      await this.client.query("ROLLBACK");
      this.#release();
    } catch (error) {
      this.#release(error as Error);
    }
  }

  // Released at once: who has the transaction may never end it.
  #onLost = (error: Error): void => {
    this.lost ??= error;
    this.#release(error);
  };

  #release(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    // A broken connection may still emit errors.
    if (error === undefined) this.client.removeListener("error", this.#onLost);
    this.client.release(error);
  }
}

/** Runs `work` in a transaction and commits it. */
export async function inTransaction<T>(
  pool: Lender,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const open = await OpenTransaction.begin(pool);
  try {
    const value = await work(open.client);
    await open.commit();
    return value;
  } catch (error) {
    await open.rollback();
    // What the loss of the connection led to says less than its reason.
    throw open.lost ?? error;
  }
}

/**
 * Runs `run` until it ends without a retryable error, or the tries are used up. A COMMIT whose
 * answer was lost is such an error: `run` claims again with the same attempt, which says how that
 * COMMIT ended.
 */
export async function repeated<T>(
  retries: Partial<Retries> | undefined,
  run: () => Promise<T>,
  again: (error: unknown) => boolean = isRetryable,
): Promise<T> {
  const { tries = 5, pause = 50 } = retries ?? {};
  for (let failures = 1; ; ++failures) {
    try {
      return await run();
    } catch (error) {
      if (failures >= tries || !again(error)) throw error;
    }
    await sleep(pause * 2 ** (failures - 1) * (0.5 + Math.random()));
  }
}
