/**
 * `npm run one-file [-- [--package FILE.tgz] [--fast] PLATFORM …]`: PicoClaw with its runtime as one file a platform, in `release/`: a
 * shell script with the package behind it. The package is built unless one is given; `--fast` packs it less tightly. Needs npm
 * for the runtime of another platform. A file for another platform is built and not run.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

const PLATFORMS = ["linux-x64", "linux-aarch64", "darwin-x64", "darwin-aarch64"];
const root = join(import.meta.dir, "..");
const release = join(root, "release");
const { version, dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const own = `${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}`;
const { values: flags, positionals: asked } = parseArgs({
  args: process.argv.slice(2),
  options: { package: { type: "string" }, fast: { type: "boolean", default: false } },
  allowPositionals: true,
});
const platforms = asked.length === 0 ? PLATFORMS : asked;
const unknown = platforms.filter((name) => !PLATFORMS.includes(name));
if (unknown.length > 0) throw new Error(`no such platform: ${unknown.join(", ")} (${PLATFORMS.join(", ")})`);

const work = mkdtempSync(join(tmpdir(), "picoclaw-one-file-"));
try {
  mkdirSync(release, { recursive: true });
  const tarball = resolve(flags.package ?? join(work, `picoclaw-${version}.tgz`));
  if (flags.package === undefined) run(["npm", "pack", "--pack-destination", work], root);
  run(["tar", "-xzf", tarball, "-C", work], work);
  // The bundle holds what it needs of its dependencies; the library is for programs that npm installs.
  rmSync(join(work, "package/lib"), { recursive: true });
  for (const platform of platforms) make(platform);
} finally {
  rmSync(work, { recursive: true, force: true });
}

function make(platform: string): void {
  const modules = join(work, "package/node_modules");
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(join(modules, ".bin"), { recursive: true });
  cpSync(runtimeFor(platform), join(modules, ".bin/bun"));
  chmodSync(join(modules, ".bin/bun"), 0o755);
  const archive = join(work, `${platform}.tar`);
  run(["tar", "-cf", archive, "-C", join(work, "package"), "--owner=0", "--group=0", "."], work);
  const bytes = gzipSync(readFileSync(archive), { level: flags.fast ? 1 : 9 });
  rmSync(archive);
  const id = `${version}-${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}`;
  const script = readFileSync(join(root, "packaging/one-file.sh"), "utf8");
  const filled = script
    .replaceAll("@VERSION@", version)
    .replaceAll("@PLATFORM@", platform)
    .replaceAll("@ID@", id)
    .replaceAll("@LINES@", String(script.split("\n").length));
  const file = join(release, `picoclaw-${version}-${platform}`);
  writeFileSync(file, Buffer.concat([Buffer.from(filled), bytes]), { mode: 0o755 });
  chmodSync(file, 0o755);
  const ran = platform === own ? tried(file) : "built, not run";
  console.log(`${file.slice(root.length + 1)}  ${(bytes.length / 1e6).toFixed(0)} MB  ${ran}`);
}

function tried(file: string): string {
  const cache = join(work, "cache");
  const done = Bun.spawnSync([file, "--version"], { env: { ...process.env, XDG_CACHE_HOME: cache } });
  if (done.exitCode !== 0) throw new Error(`${file} does not start: ${done.stderr}`);
  return `runs: ${String(done.stdout).trim()}`;
}

function runtimeFor(platform: string): string {
  if (platform === own) return process.execPath;
  run(["npm", "pack", `@oven/bun-${platform}@${dependencies.bun}`, "--pack-destination", work], work);
  const archive = readdirSync(work).find((name) =>
    name.startsWith(`oven-bun-${platform}-${dependencies.bun}`),
  );
  if (archive === undefined) throw new Error(`npm gave no runtime for ${platform}`);
  const folder = join(work, platform);
  mkdirSync(folder);
  run(["tar", "-xzf", join(work, archive), "-C", folder], work);
  return join(folder, "package/bin/bun");
}

function run(argv: string[], cwd: string): void {
  const done = Bun.spawnSync(argv, { cwd, stdout: "ignore", stderr: "pipe" });
  if (done.exitCode !== 0) throw new Error(`${argv.join(" ")}\n${done.stderr}`);
}
