// The client: one operation is one key, over as many attempts as it takes.

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { Answer, parseProblem } from "./answers.js";
import {
  ConnectionFailedError,
  OncewardError,
  OperationChangedError,
  OperationExpiredError,
  StoreError,
  problemError,
} from "./errors.js";
import { checkKey, checkTarget, headerValue, mintKey, weakness } from "./keys.js";
import * as policy from "./policy.js";
import type { Entry, Store } from "./store.js";

/** What a client is made with. Times are in milliseconds. */
export interface Options {
  retries?: Partial<policy.Retries>;
  /** For operations that have a name. */
  store?: Store;
  /** How long the server remembers (24 h); an older key is not sent. */
  retention?: number;
  /** Of one attempt (30 s). */
  timeout?: number;
  keyHeader?: string;
  /** Keys tell when they were minted: for a route with `key.minted_at`. */
  uuid7?: boolean;
  /** Without the quotes of the IETF's draft. */
  bareKeys?: boolean;
  /** With each request, such as Authorization. */
  headers?: Record<string, string>;
  fetch?: typeof fetch;
  /** Told of weak keys and of a store that does not forget; otherwise process.emitWarning(). */
  warn?: (message: string) => void;
}

export interface Call {
  json?: unknown;
  content?: string | Uint8Array;
  headers?: Record<string, string>;
  key?: string;
  /** Its name in the store, the same after a restart, such as an order's number. */
  operation?: string;
  /** Ends the call; its outcome is open then, and a stored key stays. */
  signal?: AbortSignal;
}

// The request was never sent with these.
const notSent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

interface Kept {
  key: string;
  /** It may have been sent before. */
  inDoubt: boolean;
}

/** For any number of calls at once. */
export class Client {
  private readonly retries: policy.Retries;
  private readonly keyHeader: string;
  private previous: string | undefined; // given by the caller

  constructor(
    private readonly baseUrl: string,
    private readonly options: Options = {},
  ) {
    this.retries = { ...policy.defaultRetries, ...options.retries };
    this.keyHeader = options.keyHeader ?? "Idempotency-Key";
  }

  /** One operation, over as many attempts as it takes; throws OncewardError. */
  async request(method: string, target: string, call: Call = {}): Promise<Answer> {
    checkTarget(target);
    const url = new URL(this.baseUrl.replace(/\/$/, "") + target);
    const init = this.prepare(method, url, call);
    const { key, inDoubt } = await this.keyOf(call, fingerprint(method, target, init.body));
    init.headers.set(this.keyHeader, headerValue(key, this.options.bareKeys ?? false));
    const progress: Progress = { failures: 0, waits: 0, inDoubt };
    for (;;) {
      const step = await this.attempt(url, init, key, progress, call);
      if (step instanceof Answer) return step;
      await sleep(step, undefined, call.signal ? { signal: call.signal } : {});
    }
  }

  // The answer, or how long to wait for the next attempt.
  private async attempt(
    url: URL,
    init: Prepared,
    key: string,
    progress: Progress,
    call: Call,
  ): Promise<Answer | number> {
    const attempts = progress.failures + progress.waits + 1;
    let answer: Answer;
    try {
      answer = await this.send(url, init, key, attempts, call.signal);
    } catch (cause) {
      if (call.signal?.aborted) throw cause;
      progress.inDoubt ||= !notSent.has(codeOf(cause));
      const message = `no answer: ${reason(cause)}`;
      return this.failed(progress, new ConnectionFailedError(message, { key, attempts, cause }));
    }
    const { status, replayed, headers } = answer;
    const problem = parseProblem(answer);
    const retryAfter = policy.parseRetryAfter(headers.get("Retry-After"));
    const verdict = policy.judge({ status, replayed, problem: problem?.name ?? "", retryAfter });
    progress.inDoubt ||= policy.leavesDoubt(status);
    const settled = policy.settles(status, replayed, progress.inDoubt);
    if (settled && call.operation !== undefined) {
      await this.forget(call.operation, key);
    }
    if (verdict === "done") return answer;
    const error = problemError(answer, problem, settled);
    if (verdict === "refused" || (retryAfter ?? 0) > this.retries.retryAfterMax) throw error;
    if (verdict === "again") return this.failed(progress, error, retryAfter);
    if (++progress.waits > this.retries.inFlightWaits) throw error;
    return policy.inFlightPause(this.retries, retryAfter);
  }

  private failed(progress: Progress, error: OncewardError, retryAfter?: number): number {
    if (++progress.failures >= this.retries.attempts) throw error;
    return policy.pause(this.retries, progress.failures, retryAfter);
  }

  private async send(
    url: URL,
    init: Prepared,
    key: string,
    attempts: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const controller = new AbortController();
    const stop = (): void => controller.abort(signal?.reason);
    const late = (): void => controller.abort(new Error("it took too long"));
    const timer = setTimeout(late, this.options.timeout ?? 30_000);
    signal?.addEventListener("abort", stop);
    try {
      signal?.throwIfAborted();
      const send = this.options.fetch ?? fetch;
      const body = init.body as BodyInit | null;
      const response = await send(url, { ...init, body, signal: controller.signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      return new Answer(response.status, response.headers, bytes, key, attempts);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  // What each attempt and each restart sends alike. What cannot be sent at all is told here.
  private prepare(method: string, url: URL, call: Call): Prepared {
    const headers = new Headers(this.options.headers);
    for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
    if (headers.has(this.keyHeader)) {
      throw new RangeError(`${this.keyHeader} is the client's own: give \`key\` instead`);
    }
    let body = call.content ?? null;
    if (call.json !== undefined) {
      if (body !== null) throw new RangeError("either `json` or `content`");
      body = JSON.stringify(call.json);
      if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
    }
    const prepared: Prepared = { method, headers, body, redirect: "manual" };
    new Request(url, { ...prepared, body: body as BodyInit | null });
    return prepared;
  }

  // DANGER: stored before it is sent.
  private async keyOf(call: Call, print: string): Promise<Kept> {
    if (call.key !== undefined) this.judgeKey(call.key);
    const given = call.key !== undefined;
    const minted = call.key ?? mintKey(this.options.uuid7);
    if (call.operation === undefined) return { key: minted, inDoubt: given };
    if (this.options.store === undefined) {
      throw new RangeError("an operation's key is kept in a store, and this client has none");
    }
    const made: Entry = {
      operation: call.operation,
      key: minted,
      fingerprint: print,
      createdAt: Date.now(),
    };
    const found = await this.options.store.claim(made);
    const name = JSON.stringify(call.operation);
    if (found.fingerprint !== print || (given && found.key !== minted)) {
      const message = `the operation ${name} was begun with another request or key`;
      throw new OperationChangedError(message, { key: found.key });
    }
    if (made.createdAt - found.createdAt >= (this.options.retention ?? 24 * 3_600_000)) {
      const message = `the key of the operation ${name} is older than it is remembered`;
      throw new OperationExpiredError(message, { key: found.key });
    }
    return { key: found.key, inDoubt: given || found.key !== minted };
  }

  // The answer is there, and worth more than the store's trouble: an entry that stays is answered
  // with the same again, or is too old one day.
  private async forget(operation: string, key: string): Promise<void> {
    try {
      await this.options.store?.forget(operation, key);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.warn(`a key that has ended stays in its store: ${error.message}`, "StoreWarning");
    }
  }

  private warn(text: string, kind: string): void {
    if (this.options.warn !== undefined) this.options.warn(text);
    else process.emitWarning(text, kind);
  }

  private judgeKey(key: string): void {
    checkKey(key);
    const why = weakness(key, this.previous);
    this.previous = key;
    if (why !== undefined) this.warn(`weak idempotency key: ${why}`, "WeakKeyWarning");
  }
}

interface Progress {
  failures: number;
  waits: number;
  inDoubt: boolean;
}

interface Prepared {
  method: string;
  headers: Headers;
  body: string | Uint8Array | null;
  redirect: "manual";
}

// The same in all languages: of the target as the caller has it, without the base's path.
function fingerprint(method: string, target: string, body: string | Uint8Array | null): string {
  const hash = createHash("sha256").update(`${method}\n${target}\n`);
  return hash.update(body ?? "").digest("hex");
}

// fetch() tells what went wrong in the cause of its TypeError.
function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === "string") return code;
  return cause === undefined ? "" : codeOf(cause);
}

function reason(error: unknown): string {
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: unknown };
  return cause === undefined ? String(message) : `${String(message)} (${codeOf(cause)})`;
}
