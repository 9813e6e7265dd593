// once(): a function that takes effect once for each key.

import type { PoolClient } from "pg";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import {
  ConflictError,
  ExpiredError,
  Failed,
  InFlightError,
  OutcomeUnknownError,
  sqlstateOf,
} from "./errors.js";
import type { ClaimOptions, Inbox, Result } from "./inbox.js";
import { inTransaction, repeated, type Lender, type Retries } from "./transaction.js";
import {
  mintedValue,
  tenantValue,
  type Claim,
  type Fingerprint,
  type Key,
  type Lease,
  type Time,
} from "./values.js";

interface Options<A extends unknown[]> {
  pool: Lender;
  inbox: Inbox;
  /** The key of a call: computed from its arguments, or the name of the first one's member. */
  key: string | ((...args: A) => Key);
  /** What must be the same if the key is the same. */
  fingerprint?: (...args: A) => Fingerprint;
  /** Whose key it is, instead of the inbox's tenant. Nothing, or "", is an ArgumentError. */
  tenant?: (...args: A) => string;
  /** When a key was minted, such as `mintedAtOfUuid7`. Nothing is an ArgumentError. */
  mintedAt?: (key: Key) => Time | undefined;
  /** Five tries, with a first pause of 50 ms. */
  retries?: Partial<Retries>;
}

export interface InsideOptions<A extends unknown[]> extends Options<A> {
  mode: "inside";
}

export interface OutsideOptions<A extends unknown[]> extends Options<A> {
  mode: "outside";
  /** Milliseconds of the lease (60,000). It is extended while the function runs. */
  hold?: number;
  /** Whether the other system makes one effect of two calls with one downstream key (true). */
  honoursKey?: boolean;
  /** For how many milliseconds to wait for another call's end (0). */
  wait?: number;
}

/**
 * Makes a function take effect once for each key. What it returns is stored as JSON, and each call
 * gets the stored value: the first one too.
 *
 * inside: the function gets a transaction, in which its key is claimed and its result is stored. If
 * it throws, all rolls back. If the connection breaks, the function runs again from the start.
 *
 * outside: the function gets the downstream key and no transaction, and makes its effect in another
 * system. If it throws, the effect may have happened: the key stays leased until `hold` is over.
 * The next call then makes it again under the same downstream key; without `honoursKey` it gets
 * OutcomeUnknownError.
 *
 * In both modes, Failed is stored and thrown again to later calls. The ledger has to keep results:
 * if it keeps none, each call inside is a LedgerError (OW002), and outside a call after the first
 * one gets OutcomeUnknownError.
 */
export function once<A extends unknown[], R>(
  options: InsideOptions<A>,
  work: (tx: PoolClient, ...args: A) => Promise<R> | R,
): (...args: A) => Promise<R>;
export function once<A extends unknown[], R>(
  options: OutsideOptions<A>,
  work: (downstreamKey: string, ...args: A) => Promise<R> | R,
): (...args: A) => Promise<R>;
export function once<A extends unknown[], R>(
  options: InsideOptions<A> | OutsideOptions<A>,
  work: (first: never, ...args: A) => Promise<R> | R,
): (...args: A) => Promise<R> {
  return async (...args) => {
    const { inbox, tenant, key, fingerprint, mintedAt } = options;
    const named = (first: unknown): Key => (first as Record<string, Key>)?.[key as string] as Key;
    const made = typeof key === "function" ? key(...args) : named(args[0]);
    const call: Call = {
      ...options,
      inbox: tenant === undefined ? inbox : inbox.with({ tenant: tenantValue(tenant(...args)) }),
      key: made,
      claim: {
        attempt: randomUUID(),
        fingerprint: fingerprint?.(...args),
        mintedAt: mintedValue(mintedAt, made),
      },
    };
    const run = (first: unknown): unknown => work(first as never, ...args);
    return decoded(await (options.mode === "inside" ? inside : outside)(call, run)) as R;
  };
}

interface Call extends Pick<OutsideOptions<never>, "hold" | "honoursKey" | "wait"> {
  pool: Lender;
  retries?: Partial<Retries>;
  inbox: Inbox;
  key: Key;
  claim: ClaimOptions;
}

type Body = string | Buffer | null;

// What the function threw, and not the database: no reason to run it again.
class Thrown {
  constructor(readonly error: unknown) {}
}

async function inside(call: Call, work: (client: PoolClient) => unknown): Promise<Body> {
  const { pool, inbox, retries } = call;
  let failure: Failed | undefined;
  let body = "";
  const effect = async (client: PoolClient): Promise<Result> => {
    if (failure !== undefined) return resultOf(failure);
    try {
      return { body: (body = encoded(await work(client))) };
    } catch (error) {
      if (error instanceof Failed) failure = error;
      throw sqlstateOf(error) === undefined ? new Thrown(error) : error;
    }
  };
  const attempt = (): Promise<Claim> =>
    inTransaction(pool, async (client) => {
      const claim = await inbox.claim(client, call.key, call.claim);
      if (claim.fresh) await inbox.finish(client, claim, await effect(client));
      return claim;
    });
  const tried = (): Promise<Claim> =>
    attempt().catch((error: unknown) => {
      // Its transaction is rolled back. Another one claims again and stores the failure.
      if (error instanceof Thrown && error.error === failure) return attempt();
      throw error;
    });
  const claim = await repeated(retries, tried).catch((error: unknown) => {
    throw error instanceof Thrown ? error.error : error;
  });
  if (!claim.fresh) return storedBody(claim);
  if (failure !== undefined) throw failure as Failed;
  return body;
}

async function outside(call: Call, work: (downstreamKey: string) => unknown): Promise<Body> {
  const { pool, inbox, retries, hold = 60_000, honoursKey, wait = 0 } = call;
  const deadline = Date.now() + wait;
  const ask = (): Promise<Lease> =>
    repeated(retries, () =>
      inTransaction(pool, (client) =>
        inbox.lease(client, call.key, { ...call.claim, hold, honoursKey }),
      ),
    );
  let lease = await ask();
  while (lease.outcome === "in_flight" && Date.now() < deadline) {
    const pause = Math.min(lease.remaining ?? 0, deadline - Date.now(), 200);
    await sleep(Math.max(pause, 10));
    lease = await ask();
  }
  if (!lease.fresh) return storedBody(lease);
  const holder = keepHeld(call, lease, hold);
  let result: Result;
  let failure: Failed | undefined;
  try {
    result = { body: encoded(await work(lease.downstreamKey)) };
  } catch (error) {
    // DANGER: only Failed says how the call ended. After any other error the lease stays, because
    // the effect may have happened.
    if (!(error instanceof Failed)) throw error;
    failure = error;
    result = resultOf(error);
  } finally {
    await holder.stop();
  }
  // False means that somebody took the lease over. The other system then made one effect of both
  // calls, so this result is as good as theirs.
  await repeated(retries, () =>
    inTransaction(pool, (client) => inbox.endLease(client, lease, result)),
  );
  if (failure !== undefined) throw failure;
  return result.body as string;
}

// Extends the lease whenever half of it is over. An extension that fails is tried again after a
// tenth of it; if none succeeds, the lease runs out as if this process had ended.
function keepHeld(call: Call, lease: Lease, hold: number): { stop(): Promise<void> } {
  const ended = new AbortController();
  const run = async (): Promise<void> => {
    let pause = hold / 2;
    for (;;) {
      await sleep(pause, undefined, { signal: ended.signal });
      try {
        const extend = (client: PoolClient): Promise<boolean> =>
          call.inbox.extendLease(client, lease, hold);
        if (!(await inTransaction(call.pool, extend))) return;
        pause = hold / 2;
      } catch {
        pause = Math.max(hold / 10, 20); // again, while the lease is still ours
      }
    }
  };
  const last = run().catch(() => {}); // its sleep was ended
  return {
    async stop() {
      ended.abort();
      await last;
    },
  };
}

function storedBody(answer: Claim | Lease): Body {
  switch (answer.outcome) {
    case "failed":
      throw new Failed(answer.status ?? 0, decoded(answer.body));
    case "conflict":
      throw new ConflictError("the key was used before with another fingerprint");
    case "unknown":
      throw new OutcomeUnknownError("whether the operation took effect is not known");
    case "expired":
      throw new ExpiredError("the key was minted before the ledger's memory begins");
    case "in_flight":
      throw new InFlightError("remaining" in answer ? (answer.remaining ?? 0) : 0);
    default:
      if (answer.body !== null) return answer.body;
      throw new OutcomeUnknownError("the operation took effect, and no result of it is kept");
  }
}

function resultOf(failure: Failed): Result {
  return { status: failure.status, body: encoded(failure.body), failed: true };
}

function encoded(value: unknown): string {
  return JSON.stringify(value) ?? "";
}

// Another program may have stored a result that is not JSON: it comes back as text.
function decoded(body: Body): unknown {
  const text = String(body ?? "");
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
