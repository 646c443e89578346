import { spawnSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, symlinkSync, truncateSync, utimesSync } from "node:fs";
import type { TransactionBench } from "../contracts/transaction-bench.ts";

export function git(cwd: string, ...args: string[]): string {
  const ran = spawnSync(
    "git",
    ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", ...args],
    { cwd, encoding: "utf8", env: { ...process.env, GIT_CONFIG_NOSYSTEM: "1", HOME: cwd } },
  );
  if (ran.status !== 0) throw new Error(`git ${args.join(" ")}: ${ran.stderr}`);
  return ran.stdout;
}

export function sh(cwd: string, script: string): string {
  const ran = spawnSync("sh", ["-c", script], { cwd, encoding: "utf8", env: { ...process.env, HOME: cwd } });
  if (ran.status !== 0) throw new Error(`${script}: ${ran.stderr}`);
  return ran.stdout;
}

/** Names that have broken tools before. */
export const HARD_NAMES = [
  "日本語のファイル.txt",
  "with space and 'quotes'.txt",
  "new\nline.txt",
  "-rf",
  "tab\tand\\backslash",
  "e\u0301-decomposed",
  "x".repeat(250),
];

/** Everything that undo by git is known to lose. */
export function fillWorkspace(bench: TransactionBench): void {
  git(bench.workspace, "init", "-q", "-b", "main");
  bench.save(".gitattributes", "* text=auto\n");
  bench.save(".gitignore", ".env\nnode_modules/\n");
  bench.save("tracked.txt", "tracked\n");
  bench.save("crlf.txt", "one\r\ntwo\r\n");
  bench.save("mixed.txt", "one\r\ntwo\nthree\rfour");
  git(bench.workspace, "add", "-A");
  git(bench.workspace, "commit", "-q", "-m", "first");
  bench.save("staged.txt", "staged, not committed\n");
  git(bench.workspace, "add", "staged.txt");
  bench.save("tracked.txt", "tracked, then changed by the user\n");
  bench.save(".env", "SECRET=1\n");
  bench.save("node_modules/pkg/index.js", "module.exports = 1\n");
  bench.save("untracked.txt", "untracked\n");
  bench.save(
    "binary.bin",
    Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7) & 0xff),
  );
  bench.save("private.key", "private\n");
  bench.save("run.sh", "#!/bin/sh\n");
  chmodSync(bench.at("private.key"), 0o600);
  chmodSync(bench.at("run.sh"), 0o755);
  mkdirSync(bench.at("empty/in/empty"), { recursive: true });
  mkdirSync(bench.at("nested"));
  git(bench.at("nested"), "init", "-q");
  bench.save("nested/inner.txt", "inner\n");
  git(bench.at("nested"), "add", "-A");
  git(bench.at("nested"), "commit", "-q", "-m", "inner");
  symlinkSync("tracked.txt", bench.at("link"));
  symlinkSync("/nowhere/at/all", bench.at("dangling"));
  symlinkSync("empty", bench.at("link-to-folder"));
  bench.save("linked-a.txt", "two names\n");
  linkSync(bench.at("linked-a.txt"), bench.at("linked-b.txt"));
  bench.save("sparse.img", "start");
  truncateSync(bench.at("sparse.img"), 8 << 20);
  for (const name of HARD_NAMES) bench.save(`names/${name}`, `${name}\n`);
  spawnSync("mkfifo", [bench.at("fifo")]);
  bench.save("attributed.txt", "attributes\n");
  spawnSync("setfattr", ["-n", "user.note", "-v", "kept", bench.at("attributed.txt")]);
  spawnSync("setfacl", ["-m", "u:65534:r", bench.at("attributed.txt")]);
  bench.save("old.txt", "old\n");
  utimesSync(bench.at("old.txt"), new Date("2001-02-03T04:05:06Z"), new Date("2001-02-03T04:05:06Z"));
}
