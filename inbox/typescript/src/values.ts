// The forms of arguments and answers. Wrong types are refused before anything is sent.

import { createHash } from "node:crypto";

import { ArgumentError } from "./errors.js";

/** A key: text, or its bytes. A text and its bytes in UTF-8 are the same key. */
export type Key = string | Uint8Array;
/** What came with a key, as text or bytes, to be hashed here; or a fingerprint as it is. */
export type Fingerprint = string | Uint8Array | { uuid: string };
/** When a key was minted; as text, with an offset, it may have microseconds. */
export type Time = Date | string;

export interface Header {
  name: string;
  value: string;
}

export type Outcome =
  "fresh" | "duplicate" | "failed" | "conflict" | "unknown" | "expired" | "in_flight";

/** The answer for a key. Result members are null if no result is stored. */
interface Answer {
  readonly outcome: Outcome;
  /** The effect is yours to make, once. */
  readonly fresh: boolean;
  readonly digest: string;
  readonly attempt: string;
  readonly status: number | null;
  readonly headers: Header[] | null;
  readonly body: Buffer | null;
}

export interface Claim extends Answer {
  /** The stored result is of this attempt, whose COMMIT had no answer. */
  readonly mine: boolean;
  readonly storedAt: Date | null;
}

export interface Lease extends Answer {
  /** For the other system: the same for each call of the effect. */
  readonly downstreamKey: string;
  readonly attempts: number | null;
  readonly takenOver: boolean | null;
  /** Milliseconds until the lease ends. */
  readonly remaining: number | null;
  readonly endedAt: Date | null;
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const timeForm = /^\d{4,}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** A text that reaches the database as it is. */
export function textValue(value: unknown, name: string): string {
  // DANGER: half of a surrogate pair becomes U+FFFD in UTF-8. Two texts become one key, or two
  // contents get one fingerprint.
  if (typeof value !== "string" || /\p{Surrogate}/u.test(value)) {
    throw new ArgumentError(`${name} must be a well-formed string`);
  }
  return value;
}

/** A text of the inbox, such as a tenant. PostgreSQL has no text with U+0000. */
export function nameValue(value: unknown, name: string): string {
  const text = textValue(value, name);
  if (text.includes("\0")) throw new ArgumentError(`${name} must have no U+0000`);
  return text;
}

/** Whose key it is, as a function says. DANGER: without it, callers would share their keys. */
export function tenantValue(value: unknown): string {
  const tenant = nameValue(value, "a tenant");
  if (tenant === "") throw new ArgumentError("the tenant is missing");
  return tenant;
}

/** Both kinds of key are sent as bytes, so that U+0000 gets the same error in both. */
export function keyValue(key: unknown): Buffer {
  return key instanceof Uint8Array ? bytesOf(key) : Buffer.from(textValue(key, "a key"));
}

export function bytesOf(value: unknown, name = "a body"): Buffer {
  if (typeof value === "string") return Buffer.from(textValue(value, name));
  if (!(value instanceof Uint8Array)) throw new ArgumentError(`${name} is a string or bytes`);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

export function uuidValue(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" && uuidForm.test(value)) return value;
  throw new ArgumentError(`${name} must be a UUID`);
}

/** The first 16 bytes of SHA-256 over the content, as a UUID. */
export function fingerprintValue(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (value instanceof Uint8Array || typeof value === "string") {
    return digestOf(bytesOf(value, "what a fingerprint is made of"));
  }
  return uuidValue((value as { uuid?: unknown }).uuid ?? "", "a fingerprint's uuid");
}

export function digestOf(...parts: Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  const hex = hash.digest("hex").slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function timeValue(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (value instanceof Date && !Number.isNaN(value.getTime())) {
    // PostgreSQL does not know JavaScript's form of years after 9999, which a UUIDv7 can have.
    return value.toISOString().replace(/^\+0*/, "");
  }
  if (typeof value === "string" && timeForm.test(value)) return value;
  throw new ArgumentError("mintedAt must be a Date, or a text in ISO 8601 with an offset");
}

/**
 * What a `mintedAt` function says of a key. DANGER: a key without its time would be taken again
 * after the retention.
 */
export function mintedValue(of: ((key: Key) => Time | undefined) | undefined, key: Key) {
  const time = of?.(key);
  if (of !== undefined && (time === undefined || time === null)) {
    throw new ArgumentError("the key does not tell when it was minted");
  }
  return time;
}

export function numberValue(value: unknown, name: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new ArgumentError(`${name} must be a whole number`);
}

export function headersValue(headers: unknown): string {
  const named = (one: unknown): boolean =>
    typeof (one as Header | null)?.name === "string" && typeof (one as Header).value === "string";
  if (Array.isArray(headers) && headers.every(named)) return JSON.stringify(headers);
  throw new ArgumentError('headers must be a list of {name: "...", value: "..."}');
}

/** A row whose values are PostgreSQL's text. */
export type Row = Record<string, string | null | undefined>;

export function claimOf(row: Row): Claim {
  return { ...answerOf(row), mine: row["mine"] === "t", storedAt: dateOf(row["at"]) };
}

export function leaseOf(row: Row): Lease {
  return {
    ...answerOf(row),
    downstreamKey: row["downstream_key"] ?? "",
    attempts: numberOf(row["attempts"]),
    takenOver: row["taken_over"] == null ? null : row["taken_over"] === "t",
    remaining: numberOf(row["remaining"]),
    endedAt: dateOf(row["at"]),
  };
}

function answerOf(row: Row): Answer {
  return {
    outcome: row["outcome"] as Outcome,
    fresh: row["outcome"] === "fresh",
    digest: row["digest"] ?? "",
    attempt: row["attempt"] ?? "",
    status: numberOf(row["status"]),
    headers: row["headers"] == null ? null : (JSON.parse(row["headers"]) as Header[]),
    body: row["body"] == null ? null : Buffer.from(row["body"], "hex"),
  };
}

function numberOf(text: string | null | undefined): number | null {
  return text == null ? null : Number(text);
}

function dateOf(text: string | null | undefined): Date | null {
  return text == null ? null : new Date(Number(text));
}
