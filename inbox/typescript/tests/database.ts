// The database of the tests, which ONCEWARD_TEST_DSN names: a URI or a conninfo of libpq.

import pg from "pg";
import type { AddressInfo, Socket } from "node:net";
import { randomBytes } from "node:crypto";
import { connect, createServer } from "node:net";

export const dsn = process.env["ONCEWARD_TEST_DSN"] ?? "";
/** For test(): skipped with a word where there is no database. */
export const needsDatabase = dsn === "" ? { skip: "ONCEWARD_TEST_DSN is not set" } : {};

export function settings(of = dsn): pg.ClientConfig {
  if (/^postgres(ql)?:/.test(of)) {
    // Taken apart, so that a test may go through a proxy: a connection string has precedence.
    const client = new pg.Client({ connectionString: of });
    const { host, port, user, database, password, ssl } = client;
    const named = { user: user!, database: database!, password: password! };
    return { host, port, ssl, ...named };
  }
  const words = new Map<string, string>();
  for (const [, name, quoted, plain] of of.matchAll(/(\w+)\s*=\s*(?:'((?:\\.|[^'])*)'|(\S*))/g)) {
    words.set(name!, (quoted ?? plain ?? "").replace(/\\(.)/g, "$1"));
  }
  const made: pg.ClientConfig = { port: Number(words.get("port") ?? 5432) };
  const names = { host: "host", user: "user", database: "dbname", password: "password" } as const;
  for (const [ours, theirs] of Object.entries(names)) {
    const value = words.get(theirs);
    if (value !== undefined) made[ours as keyof typeof names] = value;
  }
  return made;
}

export function makePool(changes: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ ...settings(), max: 4, ...changes });
  pool.on("error", () => {}); // A test may break an idle connection.
  return pool;
}

/** A name that no other run has. */
export function fresh(name: string): string {
  return `typescript ${name} ${randomBytes(6).toString("hex")}`;
}

/** Makes the ledgers and the table of the tests, once for each file of tests. */
export async function prepare(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    // One at a time: files of tests run side by side.
    await client.query("BEGIN");
    await client.query("SELECT pg_advisory_xact_lock(hashtext('typescript_inbox'))");
    await client.query(
      "CREATE TABLE IF NOT EXISTS typescript_effects (operation text NOT NULL, value text)",
    );
    await client.query("SELECT onceward.register_ledger('typescript_table')");
    await client.query("SELECT onceward.register_ledger('typescript_lease', 'lease')");
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}

export async function effect(client: pg.ClientBase, operation: string, value = ""): Promise<void> {
  await client.query("INSERT INTO typescript_effects VALUES ($1, $2)", [operation, value]);
}

export async function effects(pool: pg.Pool, operation: string): Promise<number> {
  const text = "SELECT count(*)::integer AS n FROM typescript_effects WHERE operation = $1";
  return (await pool.query<{ n: number }>(text, [operation])).rows[0]!.n;
}

export type Cut = "before COMMIT arrives" | "after COMMIT";

/** A way to the database that breaks at the first COMMIT after an effect. */
export class CuttingProxy {
  cuts = 0;
  private readonly server = createServer((client) => this.join(client));
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly cut: Cut) {}

  static async start(cut: Cut): Promise<CuttingProxy> {
    const made = new CuttingProxy(cut);
    await new Promise<void>((done) => made.server.listen(0, "127.0.0.1", done));
    return made;
  }

  get pool(): pg.Pool {
    const { port } = this.server.address() as AddressInfo;
    const { user, database, password } = new pg.Client(settings());
    return makePool({
      host: "127.0.0.1",
      port,
      user: user!,
      database: database!,
      password: password!,
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.server.close(done));
  }

  private join(client: Socket): void {
    const { host, port } = new pg.Client(settings());
    const server = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    let wrote = false;
    let armed = false;
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => (socket === client ? server : client).destroy());
    }
    client.on("data", (data) => {
      wrote ||= data.includes("typescript_effects");
      if (wrote && this.cuts === 0 && data.includes("COMMIT\0")) {
        this.cuts += 1;
        if (this.cut === "before COMMIT arrives") return client.destroy();
        armed = true;
      }
      return server.write(data);
    });
    server.on("data", (data) => {
      // The answer to COMMIT is here: it has taken effect, and its sender never hears of it.
      if (armed) return client.destroy();
      return client.write(data);
    });
  }
}
