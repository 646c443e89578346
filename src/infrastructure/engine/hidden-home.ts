import { existsSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "./git-roots.ts";
import type { ShownHome } from "./shown-home.ts";

const MOST_NAMES = 200;

/**
 * Paths of the home that the words of a failed command name, that are there on this machine, and that no job sees; as
 * `~/.foo`, the way `worker.home_allow` wants them.
 */
export function findHiddenHomePaths(
  words: string,
  at: {
    readonly shown: ShownHome;
    /** Other folders that the job sees. */
    readonly seen: readonly string[];
    /** Where programs are looked for. */
    readonly path: string;
  },
): string[] {
  const { path: home, folders, files, links } = at.shown;
  const seen = [...folders, ...files.map(({ path }) => path), ...links.map(({ path }) => path), ...at.seen];
  const isHidden = (path: string) =>
    isInside(home, path) && path !== home && !seen.some((one) => isInside(one, path) || isInside(path, one));
  const named = [...namedPaths(words, home), ...missingPrograms(words, at.path)];
  const broken = named.filter((path) => isHidden(path) && existsSync(path));
  return [...new Set(broken.map((path) => `~/${entryOf(path.slice(home.length + 1))}`))];
}

function namedPaths(words: string, home: string): string[] {
  const found: string[] = [];
  for (const [, prefix, rest = ""] of words.matchAll(
    /(~|\$HOME|\/[^\s'"`:;,()<>|]*?)(\/[^\s'"`:;,()<>|]+)/g,
  )) {
    const whole = `${prefix}${rest}`;
    const path = prefix === "~" || prefix === "$HOME" ? join(home, rest) : whole;
    if (isInside(home, path)) found.push(path.replace(/[.!?]+$/, ""));
    if (found.length >= MOST_NAMES) break;
  }
  return found;
}

/** Programs that a shell or `env` did not find, in the folders of PATH that have them. */
function missingPrograms(words: string, path: string): string[] {
  const names = new Set<string>();
  for (const [, name = ""] of words.matchAll(/(?:^|[\s:])([\w.+-]+): (?:command )?not found/gm))
    names.add(name);
  for (const [, name = ""] of words.matchAll(/env: .?([\w.+-]+).?: No such file/g)) names.add(name);
  const folders = path.split(":").filter((folder) => folder.startsWith("/"));
  return [...names].flatMap((name) => folders.map((folder) => join(folder, name)));
}

/** Folders that hold many tools' things are no entry by themselves. */
const SHELVES = [".config", ".cache", ".local/share", ".local/state", ".local"];

function entryOf(path: string): string {
  const shelf = SHELVES.find((one) => path.startsWith(`${one}/`));
  const parts = path.split("/");
  return parts.slice(0, shelf === undefined ? 1 : shelf.split("/").length + 1).join("/");
}
