// Keys that tell when they were minted: UUIDs of version 7 (RFC 9562, 5.7).

import { randomBytes } from "node:crypto";

import { bytesOf, type Key } from "./values.js";

const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** A new key: the time in milliseconds, and 74 random bits. */
export function uuid7(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** When a key was minted, as text or bytes; undefined if it is not a UUID of version 7. */
export function mintedAtOfUuid7(key: Key): Date | undefined {
  const text = key instanceof Uint8Array ? bytesOf(key).toString("latin1") : key;
  if (typeof text !== "string" || !version7.test(text)) return undefined;
  return new Date(parseInt(text.slice(0, 8) + text.slice(9, 13), 16));
}
