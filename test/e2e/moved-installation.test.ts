/** A checkout is made, bundled, and then lies somewhere else: renamed, copied, or without some of its files. */

import { afterAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ownFileTest } from "../../scripts/earlier-pieces.ts";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { isBundleFresh } from "../fresh-bundle.ts";
import { requirePart, runs } from "../require.ts";
import { create, createCli, shell } from "./cli-kit.ts";

const ROOT = join(import.meta.dir, "../..");
const PROGRAM_FILES = [
  ...["bin", "demo", "images", "scripts", "src"],
  ...["bunfig.toml", "package.json", "system_prompt_command_executor.txt", "tsconfig.json"],
];

const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-moved-")));
const moved = join(folder, "elsewhere/deeper/picoclaw");
const cli = createCli();
afterAll(() => {
  cli.remove();
  removeTree(folder);
});

/** With its times to the nanosecond: the bundle counts only while it is newer than the sources. */
function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  spawnSync("cp", ["-a", from, to]);
}

const built = join(folder, "built");
for (const name of PROGRAM_FILES) cpSync(join(ROOT, name), join(built, name), { recursive: true });
symlinkSync(join(ROOT, "node_modules"), join(built, "node_modules"));
// By day the bundle is the one that `npm ci` made, if it is of these sources: it was made elsewhere, too.
if (runs(1) === 1 && isBundleFresh()) cpSync(join(ROOT, "dist"), join(built, "dist"), { recursive: true });
else {
  const bundled = spawnSync(process.execPath, ["--no-env-file", "scripts/bundle.ts"], { cwd: built });
  if (bundled.status !== 0) throw new Error(String(bundled.stderr));
}
copy(built, moved);
renameSync(built, join(folder, "renamed"));

const PLACES = { copied: moved, renamed: join(folder, "renamed") };

describe.each(Object.entries(PLACES))("a bundle that was %s", (name, place) => {
  const program = join(place, "bin/picoclaw");

  test("has what one edit loads in one file", () => {
    expect(readdirSync(join(place, "dist")).filter((file) => /^edit-\w+\.js\.jsc$/.test(file))).not.toEqual(
      [],
    );
  });

  test("carries out edits", () => {
    const ran = cli.apply([create(`${name}.txt`, "here\n")], ["--json"], { program });
    expect([ran.code, cli.read(`${name}.txt`)]).toEqual([0, "here\n"]);
  });

  test.if(requirePart("bwrap"))("runs a command in the overlay, by the executor that lies beside it", () => {
    const ran = cli.apply([shell(`echo by-${name} > shell.txt`)], ["--json"], { program });
    expect([ran.code, cli.read("shell.txt"), ran.err]).toEqual([0, `by-${name}\n`, ""]);
    const doctor = cli.run(["doctor"], { program });
    expect(doctor.out).toContain("overlay");
  });

  test("has a proxy that starts", async () => {
    const settings = JSON.stringify({ listen: { host: "127.0.0.1", port: 0 }, allowed: [], denied: [] });
    const proxy = spawn(process.execPath, ["--no-env-file", join(place, "dist/wiring/proxy.js"), settings]);
    const line = await new Promise((resolve) => proxy.stdout.once("data", (bytes) => resolve(String(bytes))));
    proxy.kill("SIGTERM");
    expect(JSON.parse(line as string)).toMatchObject({ event: "ready" });
  });
});

test("a bundle names no folder that it was made in", () => {
  const dist = join(moved, "dist");
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .filter(ownFileTest(dist));
  const naming = files.filter((name) => {
    const text = readFileSync(join(dist, name), "utf8");
    return [ROOT, built].some((place) => text.includes(`${place}/`));
  });
  expect(files).toContain("main.js");
  expect(naming).toEqual([]);
});

describe("a source that is newer than the bundle", () => {
  const edited = (name: string) => {
    const place = join(folder, name);
    copy(moved, place);
    appendFileSync(join(place, "src/adapters/cli/dispatch.ts"), '\nconsole.error("from the sources");\n');
    return { program: join(place, "bin/picoclaw"), place };
  };

  test("wins in a checkout", () => {
    const { program, place } = edited("checkout");
    mkdirSync(join(place, ".git"));
    expect(cli.run(["--help"], { program }).err).toContain("from the sources");
  });

  test("is not asked for where no job works on them", () => {
    expect(cli.run(["--help"], { program: edited("installed").program }).err).toBe("");
  });
});

describe("an installation of which something is missing", () => {
  const lacking = (name: string, ...missing: readonly string[]) => {
    const place = join(folder, name);
    copy(moved, place);
    for (const path of missing) rmSync(join(place, path), { recursive: true });
    return { program: join(place, "bin/picoclaw"), place };
  };

  test("works without its sources, the version too", () => {
    const { program } = lacking("no-sources", "src");
    expect(cli.run(["--version"], { program }).code).toBe(0);
    expect(cli.apply([create("bundle-alone.txt", "x")], [], { program }).code).toBe(0);
    expect(existsSync(join(cli.workspace, "bundle-alone.txt"))).toBe(true);
  });

  test.if(requirePart("bwrap"))("is told which file, and nothing is applied", () => {
    const { program, place } = lacking("no-executor", "dist/wiring/executor.js");
    const ran = cli.apply([shell("echo x > never.txt")], [], { program });
    expect(ran.code).not.toBe(0);
    expect(ran.err).toContain(join(place, "dist/wiring/executor.js"));
    expect(ran.err).toContain("npm ci");
    expect(existsSync(join(cli.workspace, "never.txt"))).toBe(false);
  });

  test("says so when there is neither bundle nor source", () => {
    const { program } = lacking("nothing", "src", "dist");
    const ran = cli.apply([create("never.txt", "x")], [], { program });
    expect(ran.code).toBe(3);
    expect(ran.err).toContain("npm ci");
  });
});
