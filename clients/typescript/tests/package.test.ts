// The package as npm packs and installs it: in a folder of its own, and without any registry.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, cp, mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as source from "../src/index.js";

const run = promisify(execFile);
const built = fileURLToPath(new URL("..", import.meta.url));

// With nothing of the user's settings, which may name a registry.
async function npm(folder: string, cwd: string, ...words: string[]): Promise<void> {
  const settings = {
    npm_config_userconfig: join(folder, "npmrc"),
    npm_config_cache: join(folder, "cache"),
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
    npm_config_audit: "false",
    npm_config_ignore_scripts: "true",
  };
  await run("npm", words, { cwd, env: { ...process.env, ...settings } });
}

async function isThere(program: string): Promise<boolean> {
  try {
    await run(program, ["--version"]);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return false;
    throw error;
  }
  return true;
}

test("what npm installs can be imported, has its types, and no tests", async (context) => {
  if (!(await isThere("npm"))) return context.skip("npm is not installed");
  const folder = await mkdtemp(join(tmpdir(), "package-"));
  try {
    const made = join(folder, "made");
    const packed = join(folder, "packed");
    const user = join(folder, "user");
    for (const part of ["src", "tests"]) {
      await cp(join(built, part), join(made, "dist", part), { recursive: true });
    }
    for (const file of ["package.json", "README.md"]) await cp(file, join(made, file));
    await mkdir(packed);
    await mkdir(user);
    await npm(folder, made, "pack", "--pack-destination", packed);
    const archives = await readdir(packed);
    await npm(folder, user, "install", "--prefix", user, join(packed, archives[0] ?? ""));

    const installed = join(user, "node_modules", "onceward-client");
    const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    await access(join(installed, manifest.types));
    await access(join(installed, manifest.exports["."].replace(/\.js$/, ".d.ts")));
    await access(join(installed, "README.md"));
    assert.deepEqual(await readdir(join(installed, "dist")), ["src"]);
    const names = 'import * as all from "onceward-client"; console.log(Object.keys(all).join())';
    const words = ["--input-type=module", "-e", names];
    const { stdout } = await run(process.execPath, words, { cwd: user });
    assert.equal(stdout.trim(), Object.keys(source).join());
  } finally {
    await rm(folder, { recursive: true });
  }
});
