/**
 * Real parts that a machine may lack. `describe.if(requirePart("zsh"))` runs the suite where zsh is,
 * says `skipped: zsh — <remedy>` where it is not, and fails where PICOCLAW_TEST_REQUIRE names it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

interface Part {
  readonly works: () => boolean;
  readonly remedy: string;
}

/** The address for TLS and a client's files, beside the socket of an engine of ours. */
export const DOCKER_TLS = join(dirname((process.env.DOCKER_HOST ?? "").replace("unix://", "")), "tls");

const PARTS: Readonly<Record<string, Part>> = {
  bwrap: {
    works: () =>
      succeeds("bwrap", ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"]),
    remedy: "install bubblewrap, and allow unprivileged user namespaces",
  },
  docker: {
    works: () => succeeds("docker", ["version"]),
    remedy: "install Docker, start it, and let this user reach its socket (DOCKER_HOST)",
  },
  "docker-tls": {
    works: () => existsSync(join(DOCKER_TLS, "host")),
    remedy: "an engine of test/real/docker-engine.sh listens by TLS too (DOCKER_HOST)",
  },
  "environment-images": {
    works: () =>
      succeeds("docker", [
        ...["image", "inspect", "coding-agent-executor-python:latest", "coding-agent-executor-node:latest"],
        "coding-agent-executor-miniforge-stand-in:latest",
      ]),
    remedy: "build them once: bash test/real/environment-images.sh (needs Docker and its Debian root)",
  },
  postgres: {
    works: () => inPath("initdb") || readFolder("/usr/lib/postgresql").length > 0,
    remedy: "install the PostgreSQL server (Debian: postgresql)",
  },
  chromium: {
    works: () => ["chromium", "chromium-browser", "google-chrome"].some(inPath),
    remedy: "install chromium",
  },
  "llama-server": {
    works: () => inPath("llama-server") || existsSync(process.env.LLAMA_SERVER ?? ""),
    remedy: "bash test/real/llama-server.sh FOLDER, and LLAMA_SERVER=FOLDER/llama-server",
  },
  "small-model": {
    works: () => existsSync(process.env.SMALL_MODEL ?? ""),
    remedy: "bash test/real/small-model.sh FOLDER, and SMALL_MODEL=FOLDER/small-model.gguf",
  },
  mount: {
    works: () =>
      process.getuid?.() === 0 && succeeds("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]),
    remedy: "run the suite as root on a machine that may mount",
  },
  "folds-case": {
    works: () => existsSync(process.env.CASE_INSENSITIVE ?? ""),
    remedy: "let CASE_INSENSITIVE name a folder on a file system that takes A for a",
  },
  attr: { works: () => inPath("setfattr"), remedy: "install attr" },
  acl: { works: () => inPath("setfacl"), remedy: "install acl" },
  git: { works: () => inPath("git"), remedy: "install git" },
  zsh: { works: () => inPath("zsh"), remedy: "install zsh" },
};

const answers = new Map<string, boolean>();
/** `.ci/run` starts the engine and builds the images beside the first tests, and says in these files when each is there. */
const MADE_MEANWHILE: Readonly<Record<string, string>> = {
  docker: ".docker",
  // An engine that a test starts for itself uses the same Debian root, which is made once.
  dockerd: ".docker",
  "docker-tls": ".docker",
  "environment-images": ".images",
};

/** Whether to run what needs this part. Any other name is a program looked up in PATH. */
export function requirePart(name: string): boolean {
  const known = answers.get(name);
  if (known !== undefined) return known;
  const part = PARTS[name] ?? { works: () => inPath(name), remedy: `install ${name}` };
  waitUntilMade(name);
  const works = part.works();
  const required = (process.env.PICOCLAW_TEST_REQUIRE ?? "").split(",").map((each) => each.trim());
  if (!works && required.includes(name))
    throw new Error(`required here but missing: ${name} — ${part.remedy}`);
  answers.set(name, works);
  if (!works) console.error(`skipped: ${name} — ${part.remedy}`);
  return works;
}

/** Whether a test file with this text runs containers. */
export function needsEngine(text: string): boolean {
  return /requirePart\("(?:docker|environment-images)/.test(text);
}

function waitUntilMade(name: string): void {
  const engine = process.env.PICOCLAW_TEST_ENGINE;
  const ending = MADE_MEANWHILE[name];
  if (!engine || !ending) return;
  while (existsSync(engine) && !existsSync(engine + ending)) Bun.sleepSync(200);
}

/** Rounds of a randomised test: `count` by day, sixty times that with PICOCLAW_TEST_NIGHTLY=1. */
export function runs(count: number): number {
  const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
  return nightly ? count * 60 : count;
}

/** Cases of a property: as `runs`, and a fifth with PICOCLAW_TEST_BRIEF, where a full run beside it takes the same. */
export function cases(count: number): number {
  return process.env.PICOCLAW_TEST_BRIEF ? Math.ceil(count / 5) : runs(count);
}

function inPath(program: string): boolean {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .some((folder) => folder && existsSync(join(folder, program)));
}

function succeeds(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore", timeout: 60_000 }).status === 0;
}

function readFolder(path: string): readonly string[] {
  return existsSync(path) ? readdirSync(path) : [];
}
