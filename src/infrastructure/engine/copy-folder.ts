import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { copyXattrs } from "../platform/xattr.ts";

/** `cp` keeps modes, times, links, attributes and holes, and stays on one file system. */
const COPY =
  process.platform === "linux"
    ? {
        whole: ["cp", "-a", "-x", "-T", "--reflink=auto", "--"],
        into: 'cp -a -x --reflink=auto -- "$@" "$0"/',
      }
    : { whole: ["cp", "-cpRP", "--"], into: 'cp -cpRP -- "$@" "$0"/' };

/**
 * Copies a folder to a name that does not exist, but for what is PicoClaw's own. Returns what `cp` complained of;
 * names travel as bytes, so that one which is not text is copied like any other.
 */
export function copyFolder(from: string, to: string, ownFolders: readonly string[]): string[] {
  const names = new Set(
    ownFolders
      .filter((own) => own.startsWith(`${from}/`) && existsSync(own))
      .map((own) => own.slice(from.length + 1).split("/")[0] as string),
  );
  if (names.size === 0) return runCopyProgram([...COPY.whole, from, to], "/");
  mkdirSync(to, { mode: 0o700 });
  const leftOut = [...names].flatMap((name) => ["!", "-name", escapeGlob(name)]);
  const complaints = runCopyProgram(
    [
      "find",
      ".",
      "-mindepth",
      "1",
      "-maxdepth",
      "1",
      ...leftOut,
      "-exec",
      "sh",
      "-c",
      COPY.into,
      to,
      "{}",
      "+",
    ],
    from,
  );
  for (const name of names) {
    const inside = join(from, name);
    if (!ownFolders.includes(inside)) complaints.push(...copyFolder(inside, join(to, name), ownFolders));
  }
  adoptFolder(from, to);
  return complaints;
}

function adoptFolder(from: string, to: string): void {
  const stats = lstatSync(from);
  const descriptor = openSync(to, "r");
  copyXattrs(from, descriptor);
  closeSync(descriptor);
  utimesSync(to, stats.atime, stats.mtime);
  chmodSync(to, stats.mode & 0o7777);
}

function runCopyProgram(command: readonly string[], cwd: string): string[] {
  const ran = spawnSync("env", ["LC_ALL=C", ...command], { cwd, encoding: "utf8", maxBuffer: 16 << 20 });
  if (ran.error) return [ran.error.message];
  if (ran.status === 0) return [];
  const complaints = ran.stderr.split("\n").filter((line) => line !== "");
  return complaints.length === 0 ? [`${command[0]} ended with ${ran.status}`] : complaints;
}

function escapeGlob(name: string): string {
  return name.replace(/[[\]*?\\]/g, "\\$&");
}
