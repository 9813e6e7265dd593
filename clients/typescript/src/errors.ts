// Errors. Each says under which key, after how many attempts, and whether the outcome is known.

import type { Answer, Problem } from "./answers.js";

export interface Circumstances {
  key: string;
  attempts?: number;
  settled?: boolean;
  cause?: unknown;
}

/** `settled`: how the operation ended is known. Where it is not, try again with this `key`. */
export class OncewardError extends Error {
  readonly key: string;
  readonly attempts: number;
  readonly settled: boolean;

  constructor(message: string, { key, attempts = 0, settled = false, cause }: Circumstances) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.key = key;
    this.attempts = attempts;
    this.settled = settled;
  }
}

/** No answer came, as often as it was tried; the last reason is `cause`. */
export class ConnectionFailedError extends OncewardError {}

/** An answer of 400 or more; `problem` where it was told as problem+json. */
export class ProblemError extends OncewardError {
  readonly status: number;

  constructor(
    readonly answer: Answer,
    readonly problem: Problem | undefined,
    settled: boolean,
  ) {
    const words = [problem?.name, problem?.title, problem?.detail].filter(Boolean);
    super([answer.status, ...words].join(": "), {
      key: answer.key,
      attempts: answer.attempts,
      settled,
    });
    this.status = answer.status;
  }
}

/** 409: an earlier attempt still runs, after as many waits as were allowed. */
export class KeyInFlightError extends ProblemError {}
/** 422: the key was used before, for another request. */
export class KeyReusedError extends ProblemError {}
/** 422: what the request carries cannot be applied. */
export class RejectedError extends ProblemError {}
/** 410: it was carried out before; its answer is not kept any more. */
export class AnswerGoneError extends ProblemError {}
/** 400: the key is missing, malformed, or not expected. */
export class KeyRefusedError extends ProblemError {}
/** 401 or 403. */
export class NotAuthorizedError extends ProblemError {}
/** 429, as often as it was tried. */
export class TooManyRequestsError extends ProblemError {}
/** 5xx, as often as it was tried, or stored as the operation's result. */
export class ServerError extends ProblemError {}

/** The stored operation was another request: nothing was sent. Use another name for it. */
export class OperationChangedError extends OncewardError {}

/**
 * The stored key is older than servers remember keys: nothing was sent. The operation may have
 * taken effect. Find out, then `forget` it in the store.
 */
export class OperationExpiredError extends OncewardError {}

/** The store cannot be read or written. Nothing was sent, as a new key might be a second one. */
export class StoreError extends Error {
  override name = "StoreError";
}

export function problemError(
  answer: Answer,
  problem: Problem | undefined,
  settled: boolean,
): ProblemError {
  return new (kind(answer.status, problem?.name ?? ""))(answer, problem, settled);
}

function kind(status: number, name: string): typeof ProblemError {
  if (status === 400 && ["key-missing", "key-malformed", "key-not-expected"].includes(name)) {
    return KeyRefusedError;
  }
  if (status === 422) return name === "key-reused" ? KeyReusedError : RejectedError;
  if (status === 410 && name === "answer-gone") return AnswerGoneError;
  if (status === 409 && (name === "" || name === "key-in-flight")) return KeyInFlightError;
  if (status === 401 || status === 403) return NotAuthorizedError;
  if (status === 429) return TooManyRequestsError;
  return status >= 500 ? ServerError : ProblemError;
}
