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
  /** Which ledger keeps them ("inbox"). */
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

function claimColumns(of: string): string {
  return `${of}.outcome, ${of}.digest, ${of}.attempt, ${of}.mine, ${of}.status, ${of}.headers,
    encode(${of}.body, 'hex') AS body, extract(epoch FROM ${of}.stored_at) * 1000 AS at`;
}

/**
 * Describes keys. It holds no connection: each call takes the caller's, runs in the transaction
 * that is open there, and neither commits nor rolls back.
 */
export class Inbox {
  readonly operation: string;
  readonly kind: string;
  readonly tenant: string;
  readonly ledger: string;
  readonly schema: string;
  // Shared by the copies that with() makes.
  #version = { checked: false };

  constructor(options: InboxOptions) {
    const { operation, kind = "id", tenant = "", ledger = "inbox", schema = "onceward" } = options;
    this.operation = values.textValue(operation, "operation");
    this.kind = values.textValue(kind, "kind");
    this.tenant = values.textValue(tenant, "tenant");
    this.ledger = values.textValue(ledger, "ledger");
    this.schema = values.textValue(schema, "schema");
    Object.freeze(this);
  }

  /** The same with changes, such as another tenant. */
  with(changes: Partial<InboxOptions>): Inbox {
    const made = new Inbox({ ...this, ...changes });
    if (made.schema === this.schema) made.#version = this.#version;
    return made;
  }

  /** Claims a key. If it is fresh: the effect, and then finish(), in the same transaction. */
  async claim(tx: ClientBase, key: Key, options: ClaimOptions = {}): Promise<Claim> {
    const rows = await this.#call(
      tx,
      (schema) => `SELECT ${claimColumns("c")} FROM ${schema}.claim($1::text, $2::text, $3::text,
        $4::bytea, $5::uuid, $6::uuid, $7::text, $8::timestamptz) AS c`,
      [
        ...this.#scope(values.keyValue(key)),
        values.fingerprintValue(options.fingerprint),
        values.uuidValue(options.attempt, "attempt"),
        this.ledger,
        values.timeValue(options.mintedAt),
      ],
    );
    return values.claimOf(rows[0]!);
  }

  /** Stores the result of a key that this transaction has claimed. */
  async finish(tx: ClientBase, claim: Claim, result: Result = {}): Promise<void> {
    await this.#end(tx, "finish", claim, result);
  }

  /**
   * Claims up to 10,000 keys in one round trip, before the transaction locks rows of its own. The
   * answers are in the order of the keys; a key that comes twice is fresh once.
   */
  async claimMany(tx: ClientBase, keys: Key[], options: ClaimManyOptions = {}): Promise<Claim[]> {
    if (!Array.isArray(keys)) throw new ArgumentError("keys must be an array");
    const rows = await this.#call(
      tx,
      (schema) => `SELECT ${claimColumns("(m.answer)")} FROM ${schema}.claim_many($1::text,
        $2::text, $3::text, $4::bytea[], $5::uuid[], $6::uuid, $7::text, $8::timestamptz[],
        $9::bigint) AS m ORDER BY m.place`,
      [
        ...this.#scope(keys.map(values.keyValue)),
        options.fingerprints?.map(values.fingerprintValue) ?? null,
        values.uuidValue(options.attempt, "attempt"),
        this.ledger,
        options.mintedAt?.map(values.timeValue) ?? null,
        values.numberValue(options.maxBytes ?? 1_048_576, "maxBytes"),
      ],
    );
    return rows.map(values.claimOf);
  }

  /** Stores one result, without headers and body, for those of the claims that are fresh. */
  async finishMany(tx: ClientBase, claims: Claim[], status = 0): Promise<void> {
    const digests = new Map<string, string[]>();
    for (const { fresh, digest, attempt } of claims) {
      if (fresh) digests.set(attempt, [...(digests.get(attempt) ?? []), digest]);
    }
    for (const [attempt, some] of digests) {
      await this.#call(
        tx,
        (schema) => `SELECT ${schema}.finish_many($1::uuid[], $2::uuid, $3::integer, $4, $5)`,
        [some, attempt, values.numberValue(status, "status"), this.tenant, this.ledger],
      );
    }
  }

  /**
   * Takes a lease, for an effect outside the database. If it is fresh: commit, call the other
   * system with the downstream key, and store the end with endLease() in another transaction.
   */
  async lease(tx: ClientBase, key: Key, options: LeaseOptions = {}): Promise<Lease> {
    const rows = await this.#call(
      tx,
      (schema) => `SELECT l.outcome, l.digest, l.attempt, l.downstream_key, l.attempts,
        l.taken_over, extract(epoch FROM l.remaining) * 1000 AS remaining, l.status, l.headers,
        encode(l.body, 'hex') AS body, extract(epoch FROM l.ended_at) * 1000 AS at
        FROM ${schema}.lease($1::text, $2::text, $3::text, $4::bytea, $5::uuid, $6::uuid, $7::text,
        $8::float8 * interval '1 ms', $9::boolean, $10::timestamptz) AS l`,
      [
        ...this.#scope(values.keyValue(key)),
        values.fingerprintValue(options.fingerprint),
        values.uuidValue(options.attempt, "attempt"),
        this.ledger,
        values.numberValue(options.hold ?? 60_000, "hold"),
        options.honoursKey ?? true,
        values.timeValue(options.mintedAt),
      ],
    );
    return values.leaseOf(rows[0]!);
  }

  /** Stores how the effect ended. False if the lease is another attempt's by now. */
  async endLease(tx: ClientBase, lease: Lease, result: Result = {}): Promise<boolean> {
    return this.#end(tx, "end_lease", lease, result);
  }

  /** Holds a lease for `hold` milliseconds from now on. False if it is another attempt's by now. */
  async extendLease(tx: ClientBase, lease: Lease, hold = 60_000): Promise<boolean> {
    return this.#yes(
      tx,
      (schema) =>
        `SELECT ${schema}.extend_lease($1::uuid, $2::uuid, $3::float8 * interval '1 ms', $4)
        AS yes`,
      [lease.digest, lease.attempt, values.numberValue(hold, "hold"), this.ledger],
    );
  }

  /** Gives a lease back, if its effect has certainly not happened. */
  async releaseLease(tx: ClientBase, lease: Lease): Promise<boolean> {
    return this.#yes(
      tx,
      (schema) => `SELECT ${schema}.release_lease($1::uuid, $2::uuid, $3) AS yes`,
      [lease.digest, lease.attempt, this.ledger],
    );
  }

  #scope(key: Buffer | Buffer[]): unknown[] {
    return [this.operation, this.tenant, this.kind, key];
  }

  async #end(
    tx: ClientBase,
    name: "finish" | "end_lease",
    claimed: Claim | Lease,
    { status = 0, headers = [], body = "", failed = false }: Result,
  ): Promise<boolean> {
    return this.#yes(
      tx,
      (schema) => `SELECT ${schema}.${name}($1::uuid, $2::uuid, $3::integer, $4::jsonb, $5::bytea,
        $6::boolean, $7::text, $8::text) AS yes`,
      [
        claimed.digest,
        claimed.attempt,
        values.numberValue(status, "status"),
        values.headersValue(headers),
        values.bytesOf(body),
        failed,
        this.tenant,
        this.ledger,
      ],
    );
  }

  async #yes(tx: ClientBase, text: (schema: string) => string, list: unknown[]): Promise<boolean> {
    return (await this.#call(tx, text, list))[0]?.["yes"] === "t";
  }

  async #call(tx: ClientBase, text: (schema: string) => string, list: unknown[]): Promise<Row[]> {
    // DANGER: a pool runs each statement on any of its connections, outside of the transaction.
    if (typeof tx?.query !== "function" || "totalCount" in tx) {
      throw new ArgumentError("the transaction must be a Client or PoolClient of pg, not a Pool");
    }
    const schema = `"${this.schema.replaceAll('"', '""')}"`;
    if (!this.#version.checked) await this.#checkVersion(tx, schema);
    try {
      return (await tx.query<Row>({ text: text(schema), values: list, types: asText })).rows;
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
