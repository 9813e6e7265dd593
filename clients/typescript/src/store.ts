// Where keys outlive the process: an interface, and files that are synced to the disk.

import { createHash, randomBytes } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rm, unlink } from "node:fs/promises";
import { join } from "node:path";

import { StoreError } from "./errors.js";

export interface Entry {
  /** The caller's name for it, the same after a restart. */
  operation: string;
  key: string;
  /** SHA-256 of method, target and body. */
  fingerprint: string;
  /** Milliseconds since 1970. */
  createdAt: number;
}

/** Entries by operation. One caller at a time for each operation. */
export interface Store {
  /**
   * Keeps the entry for good, unless one is there: then answers with that one.
   *
   * DANGER: it must be on the disk when this resolves; the request is sent after it.
   */
  claim(entry: Entry): Promise<Entry>;
  /** Takes the operation's entry out, if it has this key. */
  forget(operation: string, key: string): Promise<void>;
  /** Those whose outcome is not known, the oldest first. */
  entries(): Promise<Entry[]>;
}

/** A file for each operation in a folder of its own. For any number of processes. */
export class FileStore implements Store {
  constructor(private readonly folder: string) {}

  claim(entry: Entry): Promise<Entry> {
    return withDiskTrouble(() => this.claimNow(entry));
  }

  forget(operation: string, key: string): Promise<void> {
    return withDiskTrouble(() => this.forgetNow(operation, key));
  }

  entries(): Promise<Entry[]> {
    return withDiskTrouble(() => this.entriesNow());
  }

  private async claimNow(entry: Entry): Promise<Entry> {
    await mkdir(this.folder, { recursive: true });
    const path = this.path(entry.operation);
    const temporary = join(this.folder, `.${randomBytes(16).toString("hex")}.new`);
    const { createdAt, ...rest } = entry;
    let found = entry;
    try {
      await writeSynced(temporary, JSON.stringify({ ...rest, created_at: createdAt / 1000 }));
      // Whole or not at all, and only where none is there: of two processes one wins.
      await link(temporary, path);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      found = await read(path);
    } finally {
      await rm(temporary, { force: true });
    }
    // Also of one that was there: who wrote it may not have come this far.
    await this.syncFolder();
    return found;
  }

  private async forgetNow(operation: string, key: string): Promise<void> {
    const path = this.path(operation);
    try {
      if ((await read(path)).key !== key) return;
      await unlink(path);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      throw error;
    }
    await this.syncFolder();
  }

  private async entriesNow(): Promise<Entry[]> {
    await mkdir(this.folder, { recursive: true });
    const names = (await readdir(this.folder)).filter((name) => name.endsWith(".json"));
    const reads = names.map((name) => readIfThere(join(this.folder, name)));
    const found = (await Promise.all(reads)).flatMap((entry) => entry ?? []);
    const byName = (one: Entry, other: Entry): number => (one.operation < other.operation ? -1 : 1);
    return found.sort((one, other) => one.createdAt - other.createdAt || byName(one, other));
  }

  private path(operation: string): string {
    return join(this.folder, `${createHash("sha256").update(operation).digest("hex")}.json`);
  }

  private async syncFolder(): Promise<void> {
    if (process.platform === "win32") return; // has no such call
    const folder = await open(this.folder, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

// Errors of the disk are StoreErrors too, so catching that type catches all.
async function withDiskTrouble<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StoreError || codeOf(error) === "") throw error;
    throw new StoreError(`the key store: ${String((error as Error).message)}`, { cause: error });
  }
}

// Undefined where its operation has ended meanwhile.
async function readIfThere(path: string): Promise<Entry | undefined> {
  try {
    return await read(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function read(path: string): Promise<Entry> {
  const text = await readFile(path, "utf8");
  let found: Record<string, unknown> | null = null;
  try {
    found = JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    // Told below.
  }
  const { operation, key, fingerprint, created_at: seconds } = found ?? {};
  if (
    typeof operation !== "string" ||
    typeof key !== "string" ||
    typeof fingerprint !== "string" ||
    typeof seconds !== "number"
  ) {
    throw new StoreError(`${path} is no entry of a store`);
  }
  return { operation, key, fingerprint, createdAt: seconds * 1000 };
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "");
}
