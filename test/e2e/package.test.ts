/**
 * Each way to install, from one package that `npm pack` made: npm and npx from a registry, beside a project's own dependencies,
 * one file, the Homebrew formula's steps, an image.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { startNpmRegistry } from "../fakes/npm-registry.ts";
import { isBundleFresh } from "../fresh-bundle.ts";
import { requirePart, runs } from "../require.ts";
import { create, createCli, shell } from "./cli-kit.ts";

const ROOT = join(import.meta.dir, "../..");
const NEEDED = [
  ...["bin", "demo", "images", "packaging", "scripts", "src", "bunfig.toml", "package.json"],
  ...[
    "package-lock.json",
    "system_prompt_command_executor.txt",
    "tsconfig.json",
    "tsconfig.lib.json",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
  ],
];

const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-package-")));
const cli = createCli();

/**
 * Of a copy: packing rebuilds the bundle, and other tests are running the one of this checkout. By day the package gets the
 * bundle that `npm ci` made, if it is of these sources.
 */
const checkout = join(folder, "checkout");
const isBundled = runs(1) === 1 && isBundleFresh();
for (const name of [...NEEDED, ...(isBundled ? ["dist"] : [])])
  cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
function run(program: string, ...args: readonly string[]): void {
  const done = spawnSync(program, args, { cwd: checkout, encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
}
if (isBundled) run(process.execPath, "--no-env-file", "scripts/library.ts");
run("npm", "pack", "--offline", ...(isBundled ? ["--ignore-scripts"] : []));
const [name = ""] = readdirSync(checkout).filter((one) => one.endsWith(".tgz"));
const tarball = join(checkout, name);

const registry = startNpmRegistry(ROOT, { version, tarball });
afterAll(() => {
  registry.stop();
  cli.remove();
  removeTree(folder);
});

/** npm as a user has it, but for the registry: a home, a cache and a prefix of its own. */
async function npm(program: "npm" | "npx", args: readonly string[]) {
  const child = spawn(program, args, {
    cwd: cli.workspace,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      npm_config_registry: registry.url,
      npm_config_cache: join(folder, "cache"),
      npm_config_prefix: join(folder, "global"),
      npm_config_audit: "false",
      npm_config_fund: "false",
      npm_config_update_notifier: "false",
      PICOCLAW_HOME: cli.home,
      PICOCLAW_LOCALE: "en",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (data) => {
    said.out += String(data);
  });
  child.stderr.on("data", (data) => {
    said.err += String(data);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...said };
}

const installed = await npm("npm", ["install", "--global", "picoclaw"]);
const globally = join(folder, "global/lib/node_modules/picoclaw");
const project = join(folder, "project");
const locally = join(project, "node_modules/picoclaw");
mkdirSync(locally, { recursive: true });
spawnSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", locally]);
for (const one of readdirSync(join(ROOT, "node_modules")))
  if (one !== "picoclaw") symlinkSync(join(ROOT, "node_modules", one), join(project, "node_modules", one));
writeFileSync(join(project, "package.json"), '{"type":"module"}');

const PROGRAMS = {
  globally: join(folder, "global/bin/picoclaw"),
  "in a project": join(locally, "bin/picoclaw"),
};

test("npm installs it for all users, and warns only of what the documentation explains", () => {
  expect([installed.code, installed.err]).toEqual([0, expect.any(String)]);
  const page = readFileSync(join(ROOT, "docs/install.md"), "utf8");
  const explained = /\*\*EBADENGINE.*?\n\n/s.exec(page)?.[0] ?? "";
  const warned = [...installed.err.matchAll(/EBADENGINE\s+package: '([^']+)@[^']+'/g)].map(
    ([, one = ""]) => one,
  );
  for (const one of warned) expect([one, explained.includes(`\`${one}\``)]).toEqual([one, true]);
  const kinds = installed.err.matchAll(/^npm warn (\S+)/gm);
  for (const kind of new Set([...kinds].map(([, one = ""]) => one)))
    expect([kind, page.includes(`**${kind} `) || page.includes(`**\`${kind}\``)]).toEqual([kind, true]);
});

test("npx runs it", async () => {
  expect(await npm("npx", ["--yes", "--prefer-offline", "picoclaw", "--version"])).toMatchObject({
    code: 0,
    out: `${version}\n`,
  });
}, 300_000);

test("the package holds the program and the library, and neither sources nor tests", () => {
  const names = readdirSync(globally).sort();
  expect(names).toEqual(
    [
      ...[
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "bin",
        "bunfig.toml",
        "demo",
        "dist",
        "images",
        "lib",
        "man",
      ],
      ...["node_modules", "package.json", "system_prompt_command_executor.txt", "tsconfig.json"],
    ].sort(),
  );
  expect(readFileSync(join(globally, "man/picoclaw.1"), "utf8")).toStartWith(".TH PICOCLAW 1");
});

describe.each(Object.entries(PROGRAMS))("installed %s", (name, program) => {
  test("it carries out an edit and takes it back", () => {
    const file = `${name.replaceAll(" ", "-")}.txt`;
    const ran = cli.apply([create(file, "here\n")], ["--json"], { program });
    expect([ran.code, cli.read(file)]).toEqual([0, "here\n"]);
    expect(cli.run(["undo"], { program }).code).toBe(0);
    expect(cli.tree()).not.toHaveProperty([file]);
  });

  test.if(requirePart("bwrap"))("it runs a command in the overlay", () => {
    const ran = cli.apply([shell("echo hi > shell.txt")], ["--json"], { program });
    expect([ran.code, cli.read("shell.txt"), ran.err]).toEqual([0, "hi\n", ""]);
  });
});

test("the library is typed, and works from the package", () => {
  writeFileSync(
    join(project, "use.ts"),
    `import { executeWorkerPatch, type PatchExecutionResult, undoJob } from "picoclaw";
const options = { workspace: process.argv[2] ?? "", home: process.argv[3] ?? "" };
const result: PatchExecutionResult = await executeWorkerPatch("\`\`\`text:lib.txt\\nby the library\\n\`\`\`\\n", options);
// @ts-expect-error a number is no identifier of a job
void (() => undoJob(3, options));
console.log(JSON.stringify(result));
`,
  );
  const compiler = [
    "--no-env-file",
    join(ROOT, "node_modules/.bin/tsc"),
    "--noEmit",
    "--strict",
    "--singleThreaded",
  ];
  const choices = ["--target", "esnext", "--module", "nodenext", "--types", "bun", "use.ts"];
  const typed = spawnSync(process.execPath, [...compiler, ...choices], { cwd: project, encoding: "utf8" });
  expect(typed.stdout).toBe("");
  const home = join(folder, "library-home");
  const ran = spawnSync(process.execPath, ["--no-env-file", "use.ts", cli.workspace, home], {
    cwd: project,
    encoding: "utf8",
  });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
  expect(cli.read("lib.txt")).toBe("by the library\n");
});

describe("one file", () => {
  const own = `${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}`;
  const made = spawnSync(
    process.execPath,
    ["--no-env-file", "scripts/one-file.ts", "--package", tarball, "--fast", own],
    { cwd: checkout, encoding: "utf8" },
  );
  const file = join(checkout, "release", `picoclaw-${version}-${own}`);
  const start = (program: string, args: readonly string[]) =>
    cli.run(args, { program, env: { XDG_CACHE_HOME: join(folder, "one-file") } });

  test("it unpacks itself, carries out an edit and takes it back", () => {
    expect([made.status, made.stderr]).toEqual([0, ""]);
    const patch = { input: JSON.stringify([create("one.txt", "here\n")]), program: file };
    const env = { XDG_CACHE_HOME: join(folder, "one-file") };
    expect(cli.run(["apply", "--json"], { ...patch, env }).code).toBe(0);
    expect(cli.read("one.txt")).toBe("here\n");
    expect(start(file, ["undo"]).code).toBe(0);
    expect(cli.tree()).not.toHaveProperty(["one.txt"]);
  }, 300_000);

  test("the Homebrew formula's own steps install it, and its own test passes", () => {
    const sums = join(folder, "SHA256SUMS");
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    const platforms = ["linux-x64", "linux-aarch64", "darwin-x64", "darwin-aarch64"];
    writeFileSync(
      sums,
      platforms.map((one) => `${one === own ? sum : "0".repeat(64)}  picoclaw-${version}-${one}\n`).join(""),
    );
    const formula = spawnSync(
      process.execPath,
      ["--no-env-file", "scripts/formula.ts", sums, "https://github.com/acme/picoclaw"],
      { cwd: checkout, encoding: "utf8" },
    ).stdout;
    const section = new RegExp(
      `on_${process.platform === "darwin" ? "macos" : "linux"} do[\\s\\S]*?on_${process.arch === "arm64" ? "arm" : "intel"} do\\s+url "([^"]+)"\\s+sha256 "([^"]+)"`,
    ).exec(formula);
    expect(section?.slice(1)).toEqual([
      `https://github.com/acme/picoclaw/releases/download/v${version}/picoclaw-${version}-${own}`,
      sum,
    ]);
    // brew puts the download into an empty folder under its own name, and `bin.install` copies it with the bits of a program.
    const [, from, to] = /bin\.install Dir\["([^"]+)"\]\.first => "([^"]+)"/.exec(formula) ?? [];
    const [cellar, bin] = [join(folder, "cellar"), join(folder, "homebrew/bin")];
    for (const place of [cellar, bin]) mkdirSync(place, { recursive: true });
    copyFileSync(file, join(cellar, `picoclaw-${version}-${own}`));
    const [found = ""] = [...new Bun.Glob(from ?? "").scanSync(cellar)];
    copyFileSync(join(cellar, found), join(bin, to ?? ""));
    chmodSync(join(bin, to ?? ""), 0o755);
    expect(formula).toContain('assert_match version.to_s, shell_output("#{bin}/picoclaw --version")');
    expect(start(join(bin, "picoclaw"), ["--version"]).out).toContain(version);
  });

  test.if(requirePart("docker"))(
    "its image runs as an ordinary user",
    () => {
      copyFileSync(file, join(checkout, "packaging/picoclaw"));
      const docker = (...args: string[]) =>
        spawnSync("docker", args, {
          cwd: checkout,
          encoding: "utf8",
          env: { ...process.env, DOCKER_BUILDKIT: "0" },
        });
      const tag = `picoclaw-package-test:${process.pid}`;
      try {
        const built = docker(
          ...["build", "--quiet", "--tag", tag, "--build-arg", "BASE=picoclaw-debian:bookworm"],
          ...["--build-arg", "PACKAGES=", "packaging"],
        );
        expect([built.status, built.status === 0 ? "" : built.stderr]).toEqual([0, ""]);
        const ran = docker(
          "run",
          "--rm",
          "--network",
          "none",
          "--entrypoint",
          "sh",
          tag,
          "-c",
          "id -un && picoclaw --version",
        );
        expect([ran.status, ran.stdout]).toEqual([0, `picoclaw\n${version}\n`]);
      } finally {
        docker("image", "rm", "--force", tag);
      }
    },
    300_000,
  );
});
