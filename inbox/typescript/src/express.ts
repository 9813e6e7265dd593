// Middleware for Express (4 and 5), and for servers whose handlers are (request, response, next).

import type { IncomingMessage, ServerResponse } from "node:http";
import type { PoolClient } from "pg";
import { randomUUID } from "node:crypto";

import { ArgumentError, BusyError, isRetryable, poolWasEmpty, sqlstateOf } from "./errors.js";
import { HeldAnswer, type Answer } from "./held_answer.js";
import * as http from "./http.js";
import { Problem } from "./http.js";
import type { Inbox } from "./inbox.js";
import { OpenTransaction, repeated, type Lender, type Retries } from "./transaction.js";
import { mintedValue } from "./values.js";
import type { Claim, Fingerprint, Key, Outcome, Time } from "./values.js";

/** What a handler gets as `request.onceward`. */
export interface OncewardRequest {
  /** Its transaction has claimed the key. It is the handler's until the handler ends its answer. */
  readonly client: PoolClient;
  readonly key: string;
  readonly claim: Claim;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface Request {
      onceward?: OncewardRequest;
    }
  }
}

// Without `body`, whose type the parsers decide.
type Request = IncomingMessage & Express.Request;
type Next = (error?: unknown) => void;

export interface MiddlewareOptions<R = Request> {
  pool: Lender;
  inbox: Inbox;
  /** Methods that need a key (POST, PATCH); others pass through. */
  methods?: string[];
  /** "Idempotency-Key". */
  header?: string;
  /**
   * Whose key it is; a request for which that is missing or "" gets 400. Without this function, all
   * callers share their keys and see each other's answers.
   */
  tenant?: (request: R) => string;
  /** When a key was minted, such as `mintedAtOfUuid7`. A key without a time gets 400. */
  mintedAt?: (key: Key) => Time | undefined;
  /** The longest body of a request (1 MiB). */
  maxRequestBytes?: number;
  /** For claims: five tries, with a first pause of 50 ms. A handler runs once. */
  retries?: Partial<Retries>;
  /** Gets the error for which a client gets 503 (console.error). Others go to next(). */
  onError?: (request: R, error: unknown) => void;
}

/**
 * Runs the handlers after it in a transaction that has claimed the request's key. Their answer is
 * kept back, stored, committed, and then sent; a repeat gets the stored one. An answer of 408, 425,
 * 429 or 5xx rolls back and frees the key; any other one commits. It belongs before the parsers of
 * the body.
 */
export function idempotent<R extends Request = Request>(
  options: MiddlewareOptions<R>,
): (request: R, response: ServerResponse, next: Next) => void {
  const methods = new Set(options.methods ?? ["POST", "PATCH"]);
  return (request, response, next) => {
    if (!methods.has(request.method ?? "")) return next();
    new Exchange(options, request, response, next).run().catch((error: unknown) => {
      if (error instanceof Problem) error.send(response);
      else next(error);
    });
  };
}

interface Claimed {
  open: OpenTransaction;
  claim: Claim;
}

class Exchange<R extends Request> {
  private readonly header: string;
  private readonly attempt = randomUUID();
  private inbox: Inbox;
  private key = "";
  private fingerprint: Fingerprint = "";
  private mintedAt: Time | undefined;
  // Why the last COMMIT has no answer.
  private doubt: unknown;

  constructor(
    private readonly options: MiddlewareOptions<R>,
    private readonly request: R,
    private readonly response: ServerResponse,
    private readonly next: Next,
  ) {
    this.header = options.header ?? "Idempotency-Key";
    this.inbox = options.inbox;
  }

  async run(): Promise<void> {
    const { request, response } = this;
    const { tenant, maxRequestBytes = 1_048_576 } = this.options;
    const { key, written } = http.readKey(request, this.header);
    response.setHeader(this.header, written);
    if (tenant !== undefined) this.inbox = this.inbox.with({ tenant: this.tenantOf(tenant) });
    const body = await http.readBody(request, maxRequestBytes);
    this.key = key;
    this.mintedAt = this.mintedOf(key);
    this.fingerprint = http.requestFingerprint(request, body);
    const { open, claim } = await this.claim();
    if (!claim.fresh) {
      await open.rollback();
      return this.sendStored(claim);
    }
    request.onceward = { client: open.client, key, claim };
    const held = new HeldAnswer(response);
    held.onEnd = (answer) => void this.settle(open, claim, held, answer);
    return this.next();
  }

  private tenantOf(tenant: (request: R) => string): string {
    const found: string | null | undefined = tenant(this.request);
    // Such requests would share their keys.
    if (!found) throw new Problem("tenant-missing", "This operation needs a tenant.");
    return found;
  }

  private mintedOf(key: Key): Time | undefined {
    try {
      return mintedValue(this.options.mintedAt, key);
    } catch (error) {
      throw error instanceof ArgumentError ? new Problem("key-malformed", error.message) : error;
    }
  }

  // Opens a transaction and claims the key in it; the same attempt each time.
  private async claim(): Promise<Claimed> {
    const { pool, retries } = this.options;
    const { inbox, key, fingerprint, attempt, mintedAt } = this;
    const run = async (): Promise<Claimed> => {
      const open = await OpenTransaction.begin(pool);
      try {
        const options = { fingerprint, attempt, mintedAt };
        return { open, claim: await inbox.claim(open.client, key, options) };
      } catch (error) {
        await open.rollback();
        throw open.lost ?? error;
      }
    };
    const again = (error: unknown): boolean => !(error instanceof BusyError) && isRetryable(error);
    try {
      return await repeated(retries, run, again);
    } catch (error) {
      if (error instanceof BusyError) {
        throw new Problem("key-in-flight", "Ask again with the same key.", 1);
      }
      // The client chose the time. All else that is wrong is the program's own mistake.
      if (error instanceof ArgumentError && this.mintedAt !== undefined) {
        throw new Problem("key-malformed", error.message);
      }
      if (isRetryable(error) || poolWasEmpty(error)) throw this.unavailable(error);
      throw error;
    }
  }

  private unavailable(error: unknown): Problem {
    const { onError = logged } = this.options;
    onError(this.request, error);
    return new Problem(
      "unavailable",
      "The database was lost. Send the request again with the same key.",
      1,
    );
  }

  // The handler has ended its answer. Nothing of it has been sent.
  private async settle(
    open: OpenTransaction,
    claim: Claim,
    held: HeldAnswer,
    answer: Answer,
  ): Promise<void> {
    const rollsBack = answer.status >= 500 || [408, 425, 429].includes(answer.status);
    try {
      const other = rollsBack ? await open.rollback() : await this.commit(open, claim, answer);
      if (other === undefined) return held.send(answer);
      held.discard();
      this.sendStored(other);
    } catch (error) {
      held.discard();
      if (error instanceof Problem) error.send(this.response);
      else this.next(error);
    }
  }

  // Stores and commits the answer. If this was not what took effect, it says what the key has now.
  private async commit(open: OpenTransaction, claim: Claim, answer: Answer): Promise<Claim | void> {
    const { status, body } = answer;
    const headers = http.storedHeaders(answer.headers, this.header);
    let storeAgain: boolean;
    try {
      await this.inbox.finish(open.client, claim, { status, headers, body });
      return await open.commit();
    } catch (error) {
      await open.rollback();
      const cause = open.lost ?? error;
      // A statement of the handler failed, and it refuses the request: such an answer is stored
      // too, in a transaction without the handler's effects.
      const refused = sqlstateOf(cause) === "25P02" && status >= 400;
      if (!refused && !isRetryable(cause)) throw cause;
      storeAgain = refused;
      this.doubt = cause;
    }
    // DANGER: the COMMIT may be in doubt, and a SELECT could look too early. A claim waits for it.
    const again = await this.claim();
    if (again.claim.fresh && storeAgain) return this.commit(again.open, again.claim, answer);
    await again.open.rollback();
    return again.claim.mine ? undefined : again.claim;
  }

  private sendStored(claim: Claim): void {
    const { response } = this;
    // After a COMMIT that did not happen. The handler cannot run twice for one request.
    if (claim.fresh) throw this.unavailable(this.doubt);
    const refusal = refusals[claim.outcome];
    if (refusal !== undefined) throw new Problem(...refusal);
    if (claim.status === null || claim.body === null) {
      throw new Problem("answer-gone", "The ledger has no result of this key.");
    }
    const otherwise = claim.outcome === "failed" ? 422 : claim.body.length === 0 ? 204 : 200;
    response.statusCode = claim.status || otherwise;
    http.setHeaders(response, claim.headers ?? []);
    if (!claim.mine) response.setHeader("Idempotent-Replayed", "true");
    response.end(claim.body);
  }
}

// The outcomes of a key that no stored answer belongs to.
const refusals: Partial<Record<Outcome, ConstructorParameters<typeof Problem>>> = {
  conflict: [
    "key-reused",
    "The same key came with another request before. Use a new key for a new request.",
  ],
  unknown: ["outcome-unknown", "It took effect, and no result of it is kept."],
  expired: ["key-expired", "The key is older than the time that keys are known for."],
};

function logged(request: IncomingMessage, error: unknown): void {
  console.error(`onceward: ${request.method} ${request.url} is answered with 503:`, error);
}
