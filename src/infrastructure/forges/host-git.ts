import { closeSync, openSync } from "node:fs";
import { spawnChild } from "../platform/process-calls.ts";

export interface HostGit {
  /** Runs git in the folder, under limits of memory and of a file's size; ends it with KILL when aborted or too slow. */
  run(args: readonly string[], options?: GitOptions): Promise<GitRun>;
}

export interface GitOptions {
  readonly index?: string;
  /** The file that git reads as its standard input. */
  readonly input?: string;
}

export interface GitRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface HostGitDeps {
  readonly folder: string;
  readonly path: string;
  /** A program that answers git's questions for a user and a password. */
  readonly askpass: string;
  /** Of the host's environment: proxies and certificates only. */
  readonly passed: Readonly<Record<string, string>>;
  /** Who commits, and what `askpass` needs. */
  readonly own: Readonly<Record<string, string>>;
  readonly insecureTls: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What no setting of a person or of a repository may change. */
const FIXED_SETTINGS = [
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "credential.helper=",
  "-c",
  "protocol.allow=never",
  "-c",
  "protocol.https.allow=always",
  "-c",
  "protocol.http.allow=always",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "gc.auto=0",
  "-c",
  "http.followRedirects=initial",
  // Within the memory below: small windows, large files as streams.
  "-c",
  "core.packedGitWindowSize=32m",
  "-c",
  "core.packedGitLimit=256m",
  "-c",
  "core.bigFileThreshold=32m",
  "-c",
  "pack.windowMemory=64m",
  "-c",
  "pack.threads=1",
];

const MEMORY_BYTES = 2 * 1024 ** 3;
const FILE_BYTES = 8 * 1024 ** 3;

/** Limits that a system does not know are left out. */
const LIMITED_SHELL = `ulimit -v ${MEMORY_BYTES / 1024} 2>/dev/null; ulimit -f ${FILE_BYTES / 512} 2>/dev/null; exec "$@"`;

export function createHostGit(parts: HostGitDeps): HostGit {
  const { folder, path, askpass, passed, own, insecureTls, timeoutMs, signal } = parts;
  const settings = insecureTls ? [...FIXED_SETTINGS, "-c", "http.sslVerify=false"] : FIXED_SETTINGS;
  const env = {
    ...passed,
    ...own,
    PATH: path,
    HOME: folder,
    LC_ALL: "C",
    GIT_DIR: folder,
    GIT_ASKPASS: askpass,
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
  return {
    async run(args, { index, input } = {}) {
      signal.throwIfAborted();
      const stdin = input === undefined ? null : openSync(input, "r");
      const child = spawnChild({
        argv: ["/bin/sh", "-c", LIMITED_SHELL, "git", "git", ...settings, ...args],
        cwd: folder,
        env: { ...env, ...(index !== undefined && { GIT_INDEX_FILE: index }) },
        stdio: [stdin ?? "ignore", "pipe", "pipe"],
        detached: false,
      });
      if (stdin !== null) closeSync(stdin);
      const end = () => child.kill("SIGKILL");
      const timer = setTimeout(end, timeoutMs);
      signal.addEventListener("abort", end);
      try {
        const [stdout, stderr, { exitCode }] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
          child.exited,
        ]);
        return { code: exitCode, stdout, stderr };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
      }
    },
  };
}
