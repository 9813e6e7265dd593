// Keys: how they are made, written and judged. Pure.

import { randomUUID } from "node:crypto";

// No blank, quote, comma, backslash.
const valid = /^[\x21\x23-\x2B\x2D-\x5B\x5D-\x7E]{1,255}$/;
const numberAtEnd = /^(.*?)([0-9]+)$/;
const leastBits = 64;

/**
 * A UUID of version 4: 122 random bits. With `uuid7` one of version 7 (RFC 9562): the milliseconds
 * of now, and 74 random bits. A server with `key.minted_at: uuid7` refuses it after it may have
 * forgotten it.
 */
export function mintKey(uuid7 = false): string {
  const random = randomUUID();
  if (!uuid7) return random;
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}

/** Throws a RangeError for a key that no front door would take. */
export function checkKey(key: string): void {
  if (!valid.test(key)) {
    throw new RangeError(
      "an idempotency key is 1 to 255 characters of printable ASCII, without blanks, commas, " +
        "quotes and backslashes",
    );
  }
}

/** DANGER: `//other.example/x` or a whole URL would take the headers to another host. */
export function checkTarget(target: string): void {
  if (!target.startsWith("/") || target.startsWith("//")) {
    throw new RangeError("a target is a path that begins with one slash, and its query");
  }
}

/** As the header has it: a string of RFC 8941 in quotes, or the key as it is. */
export function headerValue(key: string, bare: boolean): string {
  return bare ? key : `"${key}"`;
}

/** Why the key might not be the only one of its kind; `previous`: the one given before. */
export function weakness(key: string, previous?: string): string | undefined {
  if (/^[0-9]+$/.test(key)) return "it is a number, as a counter or a clock gives it";
  if (previous !== undefined && follows(key, previous)) {
    return "it follows the one before, as a counter does";
  }
  if (bits(key) < leastBits) return "it is short, or of few different characters";
  return undefined;
}

function follows(key: string, previous: string): boolean {
  const one = numberAtEnd.exec(key);
  const other = numberAtEnd.exec(previous);
  if (one === null || other === null || one[1] !== other[1]) return false;
  const distance = BigInt(one[2] ?? "0") - BigInt(other[2] ?? "0");
  return distance === 1n || distance === -1n;
}

// Most that a text can hold whose characters come this often.
function bits(key: string): number {
  const counts = new Map<string, number>();
  for (const character of key) counts.set(character, (counts.get(character) ?? 0) + 1);
  let sum = 0;
  for (const count of counts.values()) sum -= count * Math.log2(count / key.length);
  return sum;
}
