// The inbox: Onceward's SQL functions, called in the caller's own transaction.

import type { ClientBase } from "pg";

import { ArgumentError, VersionError, sqlstateOf, translated } from "./errors.js";
import * as values from "./values.js";
import type { Claim, Fingerprint, Header, Key, Lease, Row, Time } from "./values.js";

/** The version of the SQL functions that this package was written for. */
export const inboxVersion = 1;

export interface InboxOptions {
  /** What the keys are for, such as "pay". */
  operation: string;
  /** What kind of key it is ("id"). */
  kind?: string;
  /** Whose keys they are; "" if keys have no tenant. */
  tenant?: string;
  /** Which ledger keeps them ("inbox", and "inbox_leases" for leases). */
  ledger?: string;
  /** Onceward's schema ("onceward"). */
  schema?: string;
}

export interface ClaimOptions {
  /** The same key with another fingerprint is a conflict. */
  fingerprint?: Fingerprint | undefined;
  /** A UUID: the same over the retries of one call. */
  attempt?: string | undefined;
  /** A key that was minted before the ledger's memory begins has expired. */
  mintedAt?: Time | undefined;
}

export interface ClaimManyOptions {
  fingerprints?: (Fingerprint | null)[] | undefined;
  attempt?: string | undefined;
  mintedAt?: (Time | null)[] | undefined;
  /** The most bytes of bodies in the answer (1 MiB). A body beyond it is null. */
  maxBytes?: number | undefined;
}

export interface LeaseOptions extends ClaimOptions {
  /** For how many milliseconds (60,000). */
  hold?: number | undefined;
  /** Whether the other system makes one effect of two calls with one downstream key (true). */
  honoursKey?: boolean | undefined;
}

export interface Result {
  status?: number;
  headers?: Header[];
  body?: string | Uint8Array;
  /** The operation failed for good. */
  failed?: boolean;
}

// All values come as PostgreSQL's text: the program may have set parsers of its own for the driver.
const asText = { getTypeParser: () => (text: string) => text };

const resultOf = (of: string): string =>
  `${of}.status, ${of}.headers, encode(${of}.body, 'hex') AS body`;
const claimed = (of: string): string =>
  `SELECT ${of}.outcome, ${of}.digest, ${of}.attempt, ${of}.mine, ${resultOf(of)},
    extract(epoch FROM ${of}.stored_at) * 1000 AS at FROM `;
const leased = `SELECT a.outcome, a.digest, a.attempt, a.downstream_key, a.attempts, a.taken_over,
    extract(epoch FROM a.remaining) * 1000 AS remaining, ${resultOf("a")},
    extract(epoch FROM a.ended_at) * 1000 AS at FROM `;

// Arguments whose types PostgreSQL does not find out by itself.
const casts: Record<string, string> = {
  key: "::bytea",
  keys: "::bytea[]",
  hold: "::float8 * interval '1 ms'",
};
type Arguments = Record<string, unknown>;

/**
 * Describes keys. It holds no connection: each call takes the caller's, runs in the transaction
 * that is open there, and neither commits nor rolls back.
 */
export class Inbox {
  readonly operation: string;
  readonly kind: string;
  readonly tenant: string;
  /** "" if none was named. */
  readonly ledger: string;
  readonly schema: string;
  // Shared by the copies that with() makes.
  #version = { checked: false };

  constructor(options: InboxOptions) {
    const { operation, kind = "id", tenant = "", ledger = "", schema = "onceward" } = options;
    if (operation === "" || kind === "") {
      throw new ArgumentError("an inbox has an operation and a kind");
    }
    this.operation = values.nameValue(operation, "operation");
    this.kind = values.nameValue(kind, "kind");
    this.tenant = values.nameValue(tenant, "tenant");
    this.ledger = values.nameValue(ledger, "ledger");
    this.schema = values.nameValue(schema, "schema");
    Object.freeze(this);
  }

  /** The same with changes, such as another tenant. A change to undefined is refused. */
  with(changes: Partial<InboxOptions>): Inbox {
    for (const [name, value] of Object.entries(changes)) values.nameValue(value, name);
    const made = new Inbox({ ...this, ...changes });
    if (made.schema === this.schema) made.#version = this.#version;
    return made;
  }

  /** Claims a key. If it is fresh: the effect, and then finish(), in the same transaction. */
  async claim(tx: ClientBase, key: Key, options: ClaimOptions = {}): Promise<Claim> {
    const rows = await this.#call(tx, claimed("a"), "claim", this.#one(key, options, "inbox"));
    return values.claimOf(rows[0]!);
  }

  /** Stores the result of a key that this transaction has claimed. */
  async finish(tx: ClientBase, claim: Claim, result: Result = {}): Promise<void> {
    await this.#yes(tx, "finish", this.#result(claim, result, "inbox"));
  }

  /**
   * Claims up to 10,000 keys in one round trip, before the transaction locks rows of its own. The
   * answers are in the order of the keys; a key that comes twice is fresh once.
   */
  async claimMany(tx: ClientBase, keys: Key[], options: ClaimManyOptions = {}): Promise<Claim[]> {
    if (!Array.isArray(keys)) throw new ArgumentError("keys must be an array");
    const { fingerprints, attempt, mintedAt, maxBytes = 1_048_576 } = options;
    const given = {
      ...this.#names("inbox"),
      keys: keys.map(values.keyValue),
      fingerprints: fingerprints?.map(values.fingerprintValue) ?? null,
      attempt: values.uuidValue(attempt, "attempt"),
      minted_at: mintedAt?.map(values.timeValue) ?? null,
      max_bytes: values.numberValue(maxBytes, "maxBytes"),
    };
    const columns = claimed("(a.answer)");
    const rows = await this.#call(tx, columns, "claim_many", given, "ORDER BY a.place");
    return rows.map(values.claimOf);
  }

  /** Stores one result, without headers and body, for those of the claims that are fresh. */
  async finishMany(tx: ClientBase, claims: Claim[], status = 0): Promise<void> {
    const digests = new Map<string, string[]>();
    for (const { fresh, digest, attempt } of claims) {
      if (!fresh) continue;
      const some = digests.get(attempt);
      if (some === undefined) digests.set(attempt, [digest]);
      else some.push(digest);
    }
    const { tenant } = this;
    const ledger = this.ledger || "inbox";
    for (const [attempt, some] of digests) {
      const checked = values.numberValue(status, "status");
      const given = { digests: some, attempt, status: checked, tenant, ledger };
      await this.#yes(tx, "finish_many", given);
    }
  }

  /**
   * Takes a lease, for an effect outside the database. If it is fresh: commit, call the other
   * system with the downstream key, and store the end with endLease() in another transaction.
   */
  async lease(tx: ClientBase, key: Key, options: LeaseOptions = {}): Promise<Lease> {
    const rows = await this.#call(tx, leased, "lease", {
      ...this.#one(key, options, "inbox_leases"),
      hold: values.numberValue(options.hold ?? 60_000, "hold"),
      honours_key: options.honoursKey ?? true,
    });
    return values.leaseOf(rows[0]!);
  }

  /** Stores how the effect ended. False if the lease is another attempt's by now. */
  async endLease(tx: ClientBase, lease: Lease, result: Result = {}): Promise<boolean> {
    return this.#yes(tx, "end_lease", this.#result(lease, result, "inbox_leases"));
  }

  /** Holds a lease for `hold` milliseconds from now on. False if it is another attempt's by now. */
  async extendLease(tx: ClientBase, lease: Lease, hold = 60_000): Promise<boolean> {
    const checked = values.numberValue(hold, "hold");
    return this.#yes(tx, "extend_lease", { ...this.#held(lease), hold: checked });
  }

  /** Gives a lease back, if its effect has certainly not happened. */
  async releaseLease(tx: ClientBase, lease: Lease): Promise<boolean> {
    return this.#yes(tx, "release_lease", this.#held(lease));
  }

  // `unnamed` is the ledger of an inbox that names none.
  #names(unnamed: string): Arguments {
    const { operation, tenant, kind, ledger } = this;
    return { operation, tenant, kind, ledger: ledger || unnamed };
  }

  #one(
    key: Key,
    { fingerprint, attempt, mintedAt }: ClaimOptions,
    unnamed: string,
  ): Arguments {
    return {
      ...this.#names(unnamed),
      key: values.keyValue(key),
      fingerprint: values.fingerprintValue(fingerprint),
      attempt: values.uuidValue(attempt, "attempt"),
      minted_at: values.timeValue(mintedAt),
    };
  }

  #held({ digest, attempt }: Claim | Lease, unnamed = "inbox_leases"): Arguments {
    return { digest, attempt, ledger: this.ledger || unnamed };
  }

  #result(held: Claim | Lease, result: Result, unnamed: string): Arguments {
    const { status = 0, headers = [], body = "", failed = false } = result;
    return {
      ...this.#held(held, unnamed),
      status: values.numberValue(status, "status"),
      headers: values.headersValue(headers),
      body: values.bytesOf(body),
      failed,
      tenant: this.tenant,
    };
  }

  async #yes(tx: ClientBase, name: string, given: Arguments): Promise<boolean> {
    return (await this.#call(tx, "SELECT a AS yes FROM ", name, given))[0]?.["yes"] === "t";
  }

  // Calls a function of the schema, with arguments by their names.
  async #call(
    tx: ClientBase,
    select: string,
    name: string,
    given: Arguments,
    order = "",
  ): Promise<Row[]> {
    // DANGER: a pool runs each statement on any of its connections, outside of the transaction.
    if (typeof tx?.query !== "function" || "totalCount" in tx) {
      throw new ArgumentError("the transaction must be a Client or PoolClient of pg, not a Pool");
    }
    const schema = `"${this.schema.replaceAll('"', '""')}"`;
    if (!this.#version.checked) await this.#checkVersion(tx, schema);
    const names = Object.keys(given).map((one, i) => `${one} => $${i + 1}${casts[one] ?? ""}`);
    const text = `${select}${schema}.${name}(${names.join(", ")}) AS a ${order}`;
    try {
      const list = Object.values(given);
      return (await tx.query<Row>({ text, values: list, types: asText })).rows;
    } catch (error) {
      throw translated(error);
    }
  }

  async #checkVersion(tx: ClientBase, schema: string): Promise<void> {
    let found = 0;
    let cause: unknown;
    try {
      const text = `SELECT ${schema}.inbox_version() AS version`;
      found = Number((await tx.query<Row>({ text, types: asText })).rows[0]?.["version"]);
    } catch (error) {
      // There is no such schema, or no such function in it.
      if (!["3F000", "42883"].includes(sqlstateOf(error) ?? "")) throw error;
      cause = error;
    }
    if (found !== inboxVersion) {
      const older = found < inboxVersion ? "run `onceward migrate up`" : "upgrade onceward-inbox";
      const message = `the schema ${schema} has version ${found} of the inbox; this package needs `;
      throw new VersionError(`${message}${inboxVersion}: ${older}`, { cause });
    }
    this.#version.checked = true;
  }
}
