// What an answer means, and how long to wait. Pure; docs/clients.md has it as a table.

/** How often and how long. Times are in milliseconds. */
export interface Retries {
  /** Most sends that fail: no answer, 5xx, 408, 425, 429. */
  attempts: number;
  /** Most waits for a first attempt that still runs (409). */
  inFlightWaits: number;
  /** The first pause; doubled each time, half of it random. */
  backoff: number;
  backoffMax: number;
  /** A server that says more ends the tries. */
  retryAfterMax: number;
}

export const defaultRetries: Retries = {
  attempts: 6,
  inFlightWaits: 10,
  backoff: 200,
  backoffMax: 20_000,
  retryAfterMax: 60_000,
};

export type Verdict = "done" | "in flight" | "again" | "refused";

const again = new Set([408, 425, 429]);
const neverSettled = new Set([408, 409, 425, 429]);

export interface Reading {
  status: number;
  replayed: boolean;
  /** The name after `/onceward/problems/`, the whole type of others, or "". */
  problem: string;
  retryAfter: number | undefined;
}

export function judge({ status, replayed, problem, retryAfter }: Reading): Verdict {
  if (status < 400) return "done";
  // Stored under the key: it never changes.
  if (replayed) return "refused";
  if (
    status === 409 &&
    (problem === "key-in-flight" || (problem === "" && retryAfter !== undefined))
  ) {
    return "in flight";
  }
  return again.has(status) || status >= 500 ? "again" : "refused";
}

/** Whether the request may have taken effect, or still may, whatever the answer says. */
export function leavesDoubt(status: number): boolean {
  return status === 408 || status === 409 || status >= 500;
}

/**
 * Whether this answer tells how the operation ended, so that its key can be forgotten.
 *
 * DANGER: after an attempt in doubt a 401, a 404 or a balancer's 302 says nothing of that attempt.
 * A new key would be a second operation.
 */
export function settles(status: number, replayed: boolean, inDoubt: boolean): boolean {
  if (status < 300 || replayed || status === 410 || status === 422) return true;
  return status < 500 && !neverSettled.has(status) && !inDoubt;
}

/** Before the next try, after so many failures. What the server asked for is the least. */
export function pause(retries: Retries, failures: number, retryAfter?: number): number {
  // 2 ** 1024 is infinite, and without any backoff the product would be no number.
  const doublings = Math.min(failures - 1, 1023);
  const whole = Math.min(retries.backoffMax, retries.backoff * 2 ** doublings);
  return (retryAfter ?? 0) + whole / 2 + (Math.random() * whole) / 2;
}

export function inFlightPause(retries: Retries, retryAfter?: number): number {
  return (retryAfter ?? 1000) + Math.random() * retries.backoff;
}

/**
 * Milliseconds of seconds or of a date (RFC 9110, 10.2.3); undefined for anything else. Of several
 * seconds the most.
 */
export function parseRetryAfter(value: string | null, now = Date.now()): number | undefined {
  const text = (value ?? "").trim();
  const parts = text.split(",").map((part) => part.trim());
  if (parts.every((part) => /^[0-9]+$/.test(part))) {
    return Math.max(...parts.map((part) => Number(part.slice(0, 9)) * 1000));
  }
  // If there are two dates, none counts.
  if (text.indexOf("GMT") !== text.length - 3) return undefined;
  if (!/^[A-Z][a-z]{2,8},? .*GMT$/.test(text)) return undefined;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? undefined : Math.max(0, moment - now);
}
