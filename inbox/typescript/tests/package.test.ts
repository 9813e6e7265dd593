// The package as npm packs and installs it, without any registry; and its example.

import assert from "node:assert/strict";
import pg from "pg";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as middleware from "../src/express.js";
import * as source from "../src/index.js";
import { needsDatabase, settings } from "./database.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

test("what npm installs can be imported, has its types, and no tests", async () => {
  const folder = await mkdtemp(join(tmpdir(), "onceward-inbox-"));
  const offline = { npm_config_offline: "true", npm_config_ignore_scripts: "true" };
  const env = { ...process.env, ...offline, npm_config_cache: join(folder, "cache") };
  try {
    await run("npm", ["pack", "--pack-destination", folder], { cwd: root, env });
    const [archive] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
    const words = ["install", "--legacy-peer-deps", "--prefix", folder, join(folder, archive!)];
    await run("npm", words, { cwd: folder, env });
    const installed = join(folder, "node_modules", "onceward-inbox");
    assert.deepEqual(await readdir(join(installed, "dist")), ["src"]);
    await readFile(join(installed, "README.md"));
    for (const [name, all] of [
      ["onceward-inbox", source],
      ["onceward-inbox/express", middleware],
    ] as const) {
      const names = `import * as all from "${name}"; console.log(Object.keys(all).join())`;
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", names], {
        cwd: folder,
      });
      assert.equal(stdout.trim(), Object.keys(all).join());
    }
    // A user's compiler finds the types, and takes the example.
    await symlink(join(root, "node_modules", "pg"), join(folder, "node_modules", "pg"));
    await symlink(join(root, "node_modules", "@types"), join(folder, "node_modules", "@types"));
    await cp(join(root, "examples", "pay.ts"), join(folder, "pay.mts"));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const options = ["--module", "node16", "--target", "es2022", "--strict", "--noEmit", "pay.mts"];
    await run(process.execPath, [compiler, ...options], { cwd: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the example runs", needsDatabase, async () => {
  const { host, port, user, password, database } = new pg.Client(settings());
  const url = new URL("postgresql://host");
  Object.assign(url, {
    username: user ?? "",
    password: password ?? "",
    port,
    pathname: `/${database}`,
  });
  url.searchParams.set("host", host);
  const env = { ...process.env, DATABASE_URL: url.href };
  const { stdout } = await run(process.execPath, [join(root, "dist", "examples", "pay.js")], {
    env,
  });
  assert.equal(stdout.match(/POST/g)?.length, 1);
  assert.match(stdout, /second { paid: 5 } { charged: 5 }\nrows: 1\n$/);
});
