// Runs every case of inbox/cases.json, whose "about" explains the form.

import assert from "node:assert/strict";
import pg from "pg";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Inbox, type Claim, type Fingerprint, type Key, type Lease } from "../src/index.js";
import { sqlstateOf } from "../src/errors.js";
import { fingerprintValue } from "../src/values.js";
import { effect, effects, makePool, needsDatabase, prepare, settings } from "./database.js";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Step = Record<string, Json>;
interface Ledger {
  ledger: string;
  store: string;
  retention: string;
  longest_request: string;
  stores_results: boolean;
  max_result_bytes: number;
}
interface Cases {
  ledgers: Ledger[];
  digests: {
    operation: string;
    tenant: string;
    kind: string;
    key: Json;
    digest: string;
    downstream_key: string;
  }[];
  fingerprints: { content: string; fingerprint: string }[];
  cases: { name: string; steps: Step[] }[];
}

const file = new URL("../../../cases.json", import.meta.url);
const cases = JSON.parse(readFileSync(file, "utf8")) as Cases;
const pool = makePool({ max: 1 });

// Members of each kind of step, but for those that all have. Another one fails the test, so that no
// check is skipped unseen.
const scope = ["key", "suffix", "tenant", "ledger", "fingerprint", "attempt", "minted_at"];
const result = ["of", "tenant", "ledger", "status", "headers", "body", "body_bytes", "failed"];
const members: Record<string, string[]> = {
  begin: ["isolation"],
  commit: [],
  rollback: [],
  break: [],
  savepoint: ["name"],
  rollback_to: ["name"],
  release: ["name"],
  sql: ["text"],
  effect: ["value"],
  effects: ["count"],
  same: ["of", "member"],
  join: ["task"],
  claim: scope,
  finish: result,
  claim_many: ["keys", "fingerprints", "minted_at", "ledger", "max_bytes", "body_lengths"],
  finish_many: ["of", "status"],
  lease: [...scope, "hold_ms", "honours_key"],
  end_lease: result,
  extend_lease: ["of", "hold_ms"],
  release_lease: ["of"],
};

function keyOf(value: Json): Key {
  if (typeof value === "string") return value;
  const { hex, repeat, times } = value as Step;
  return hex === undefined ? String(repeat).repeat(Number(times)) : Buffer.from(String(hex), "hex");
}

class Run {
  private readonly operation: string;
  private readonly clients = new Map<string, pg.Client>();
  private readonly kept = new Map<string, Claim | Lease | Claim[]>();
  private readonly tasks = new Map<string, Promise<unknown>>();

  constructor(name: string) {
    this.operation = `${name} ${randomBytes(6).toString("hex")}`;
  }

  async step(step: Step): Promise<void> {
    const kind = String(step["do"]);
    const known = ["do", "on", "as", "expect", "error", "later", ...(members[kind] ?? [])];
    assert.ok(kind in members, `unknown step ${kind}`);
    for (const name of Object.keys(step)) assert.ok(known.includes(name), `${kind}: ${name}?`);
    if (kind === "join") return this.ended(step, this.tasks.get(String(step["task"]))!);
    const task = this.act(kind, step);
    if (step["later"] === undefined) return this.ended(step, task);
    const kept = task.then((answer) => this.keep(step, answer));
    kept.catch(() => {});
    this.tasks.set(String(step["later"]), kept);
    return sleep(30); // It waits for a lock by then, or it has failed.
  }

  async close(): Promise<void> {
    for (const client of this.clients.values()) await client.end().catch(() => {});
  }

  private async ended(step: Step, task: Promise<unknown>): Promise<void> {
    if (step["error"] !== undefined) {
      const error = await task.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.equal(sqlstateOf(error), step["error"], String(error));
      return;
    }
    const answer = this.keep(step, await task);
    if (step["expect"] !== undefined) this.compare(answer, step["expect"]);
    if (step["body_lengths"] !== undefined) {
      const lengths = (answer as Claim[]).map(({ body }) => body?.length ?? null);
      assert.deepEqual(lengths, step["body_lengths"]);
    }
  }

  private keep(step: Step, answer: unknown): unknown {
    if (step["as"] !== undefined) this.kept.set(String(step["as"]), answer as Claim);
    return answer;
  }

  private compare(answer: unknown, expect: Json): void {
    if (Array.isArray(answer)) {
      assert.deepEqual(
        answer.map(({ outcome }) => outcome as string),
        expect,
      );
    } else if (typeof expect === "object" && expect !== null) {
      const found = answer as Claim & Lease;
      const said: Record<string, unknown> = {
        ...found,
        taken_over: found.takenOver,
        downstream_key: found.downstreamKey,
        body: found.body?.toString() ?? null,
      };
      for (const [name, value] of Object.entries(expect)) {
        assert.ok(name in said, name);
        assert.deepEqual(said[name], value, name);
      }
    } else {
      assert.equal(answer, expect);
    }
  }

  private async client(step: Step): Promise<pg.Client> {
    const name = String(step["on"]);
    const known = this.clients.get(name);
    if (known !== undefined) return known;
    const made = new pg.Client(settings());
    made.on("error", () => {});
    this.clients.set(name, made);
    await made.connect();
    return made;
  }

  private inbox(step: Step): Inbox {
    const text = (name: string, otherwise: string): string => String(step[name] ?? otherwise);
    return new Inbox({
      operation: this.operation + text("suffix", ""),
      tenant: text("tenant", ""),
      ledger: text("ledger", String(step["do"]).includes("lease") ? "cases_leases" : "cases"),
    });
  }

  private async act(kind: string, step: Step): Promise<unknown> {
    if (kind === "effects") {
      return assert.equal(await effects(pool, this.operation), step["count"]);
    }
    if (kind === "same") {
      const all = (step["of"] as string[]).map((name) => this.kept.get(name)) as Lease[];
      assert.equal(step["member"], "downstream_key");
      return assert.equal(new Set(all.map((one) => one.downstreamKey)).size, 1);
    }
    const client = await this.client(step);
    if (kind === "break") {
      this.clients.delete(String(step["on"]));
      const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } })
        .connection;
      return stream.destroy();
    }
    const name = step["name"];
    const texts: Record<string, string> = {
      begin: `BEGIN ISOLATION LEVEL ${step["isolation"] ?? "read committed"}`,
      commit: "COMMIT",
      rollback: "ROLLBACK",
      savepoint: `SAVEPOINT ${name}`,
      rollback_to: `ROLLBACK TO SAVEPOINT ${name}`,
      release: `RELEASE SAVEPOINT ${name}`,
      sql: String(step["text"]),
    };
    if (texts[kind] !== undefined) return client.query(texts[kind]);
    if (kind === "effect") return effect(client, this.operation, String(step["value"]));
    return this.call(kind, step, client);
  }

  private async call(kind: string, step: Step, client: pg.Client): Promise<unknown> {
    const inbox = this.inbox(step);
    const given = <T>(name: string): T | undefined => step[name] as T | undefined;
    const options = {
      fingerprint: given<string>("fingerprint"),
      attempt: given<string>("attempt"),
      mintedAt: given<string>("minted_at"),
    };
    const kept = this.kept.get(String(step["of"]));
    const bytes = given<number>("body_bytes");
    const body = bytes === undefined ? given<string>("body") : Buffer.alloc(bytes, "x");
    const { status, headers, failed } = step as { status?: number; headers?: []; failed?: boolean };
    const ended = Object.fromEntries(
      Object.entries({ status, headers, failed, body }).filter(([, value]) => value !== undefined),
    );
    switch (kind) {
      case "claim":
        return inbox.claim(client, keyOf(step["key"]!), options);
      case "finish":
        return inbox.finish(client, kept as Claim, ended);
      case "claim_many":
        return inbox.claimMany(client, (step["keys"] as Json[]).map(keyOf), {
          fingerprints: given<Fingerprint[]>("fingerprints"),
          mintedAt: given<(string | null)[]>("minted_at"),
          maxBytes: given<number>("max_bytes"),
        });
      case "finish_many":
        return inbox.finishMany(client, kept as Claim[], status);
      case "lease":
        return inbox.lease(client, keyOf(step["key"]!), {
          ...options,
          hold: given<number>("hold_ms"),
          honoursKey: given<boolean>("honours_key"),
        });
      case "end_lease":
        return inbox.endLease(client, kept as Lease, ended);
      case "extend_lease":
        return inbox.extendLease(client, kept as Lease, given<number>("hold_ms"));
      case "release_lease":
        return inbox.releaseLease(client, kept as Lease);
      default:
        return assert.fail(kind);
    }
  }
}

before(async () => {
  if (needsDatabase.skip !== undefined) return;
  await prepare(pool);
  for (const one of cases.ledgers) {
    await pool.query(
      `SELECT onceward.register_ledger($1, $2, $3::interval, $4::interval, $5, $6)`,
      [
        one.ledger,
        one.store,
        one.retention,
        one.longest_request,
        one.stores_results,
        one.max_result_bytes,
      ],
    );
  }
});
after(() => pool.end());

for (const { name, steps } of cases.cases) {
  test(name, needsDatabase, async () => {
    const run = new Run(name);
    try {
      for (const [place, step] of steps.entries()) {
        await run.step(step).catch((error: Error) => {
          error.message = `step ${place + 1} (${String(step["do"])}): ${error.message}`;
          throw error;
        });
      }
    } finally {
      await run.close();
    }
  });
}

test("golden digests and downstream keys", needsDatabase, async () => {
  for (const { operation, tenant, kind, key, digest, downstream_key } of cases.digests) {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      const scope = { operation, tenant, kind, ledger: "cases_leases" };
      const lease = await new Inbox(scope).lease(client, keyOf(key));
      assert.deepEqual([lease.digest, lease.downstreamKey], [digest, downstream_key]);
      await client.query("ROLLBACK");
    } finally {
      client.release();
    }
  }
});

test("golden fingerprints", () => {
  for (const { content, fingerprint } of cases.fingerprints) {
    assert.equal(fingerprintValue(content), fingerprint);
    assert.equal(fingerprintValue(Buffer.from(content)), fingerprint);
  }
});
