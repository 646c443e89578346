/**
 * Files that a view does not show. In: their paths. Out: a layer of whiteouts that hides them below a job's upper, their names in a
 * failed command's words, and a mask of their values. Invariant: the layer is never part of a change.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  utimesSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { SYSTEM_PATH } from "../platform/find-program.ts";
import { copyXattrs } from "../platform/xattr.ts";

/** Shorter values occur in honest text: `true`, `local`, a port. */
const SHORTEST_VALUE = 8;
const LARGEST_SECRET = 256 * 1024;
const MOST_VALUES = 500;

/** Masks the values of these files wherever a text repeats them; undefined where there are none. */
export function maskOf(paths: readonly string[]): ((text: string) => string) | undefined {
  const values = paths.flatMap((path) =>
    attemptOr([] as string[], () =>
      lstatSync(path).size > LARGEST_SECRET ? [] : valuesIn(readFileSync(path, "utf8")),
    ),
  );
  const secrets = [...new Set(values)].slice(0, MOST_VALUES).sort((a, b) => b.length - a.length);
  if (secrets.length === 0) return undefined;
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, "****"), text);
}

/** What follows `NAME=` or `name:`, without quotes; a line without a name is a value as a whole. Words of letters alone are none. */
function valuesIn(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    if (/^\s*(#|$|-----)/.test(line)) return [];
    const named = /^\s*(?:export\s+)?["']?[\w.$-]+["']?\s*[=:]\s*(\S.*?),?\s*$/.exec(line)?.[1];
    const value = (named ?? line.trim()).replace(/^(["'])(.*)\1$/, "$2");
    const isWord = /^[A-Za-z_-]*$/.test(value) && value.length < 20;
    return value.length < SHORTEST_VALUE || isWord ? [] : [value];
  });
}

/** Those of the hidden files that these words name, relative to the workspace: why a command may have failed. */
export function namedIn(words: string, hidden: readonly string[], workspace: string): string[] {
  const isNamed = (path: string) => {
    const name = basename(path);
    for (let at = words.indexOf(name); at >= 0; at = words.indexOf(name, at + 1))
      if (
        !/[\w.-]/.test(words.charAt(at - 1)) &&
        !/[\w-]|\.\w/.test(words.slice(at + name.length, at + name.length + 2))
      )
        return true;
    return false;
  };
  return hidden.filter(isNamed).map((path) => relative(workspace, path));
}

/**
 * A layer for an overlay, between a root and the upper: whiteouts at the paths, in folders that look like the root's. Null where none of
 * the paths is below the root. The kernel shows neither the file nor the mark, and a new file of that name goes to the upper.
 */
export function layWhiteouts(root: string, paths: readonly string[], layer: string): string | null {
  const inRoot = paths.filter((path) => path !== root && isInside(root, path));
  if (inRoot.length === 0) return null;
  mkdirSync(layer, { recursive: true, mode: 0o700 });
  const folders = new Set<string>();
  let first: string | null = null;
  for (const path of inRoot) {
    const below = relative(root, path);
    for (let at = dirname(below); at !== "." && !folders.has(at); at = dirname(at)) folders.add(at);
    const to = join(layer, below);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    if (first === null) {
      const made = spawnSync("mknod", [to, "c", "0", "0"], { env: { PATH: SYSTEM_PATH }, encoding: "utf8" });
      if (made.status !== 0) throw new Error(`${basename(to)} could not be hidden: ${made.stderr}`);
      first = to;
    } else linkSync(first, to);
  }
  // Innermost first: what is made in a folder changes its times.
  for (const folder of [...folders].sort().reverse()) adoptFolder(join(root, folder), join(layer, folder));
  return layer;
}

/** Gives a folder owner, mode, times and attributes of another; a merged folder shows what the uppermost layer says of it. */
export function adoptFolder(from: string, to: string): void {
  const stats = lstatSync(from);
  const descriptor = openSync(to, "r");
  copyXattrs(from, descriptor);
  closeSync(descriptor);
  if (process.getuid?.() === 0) chownSync(to, stats.uid, stats.gid);
  chmodSync(to, stats.mode & 0o7777);
  utimesSync(to, stats.atime, stats.mtime);
}
