import { lstatSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, relative } from "node:path";
import { isInside } from "./git-roots.ts";
import { ALLOWED_FILES, ALLOWED_FOLDERS } from "./home-lists.ts";

/** What a job may see of one home; every path is below it and really there. */
export interface ShownHome {
  readonly path: string;
  /** None lies in another. */
  readonly folders: readonly string[];
  /** `whole`: named by the user, and shown with every line. */
  readonly files: readonly { readonly path: string; readonly whole: boolean }[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/** `more`: what the user allows beyond what tools need, with or without `~/`. */
export function findShownHome(home: string, more: readonly string[]): ShownHome {
  const named = more.flatMap((entry) => belowHome(home, entry));
  const folders = new Set<string>();
  const files = new Map<string, boolean>();
  const links = new Map<string, string>();
  const show = (path: string, whole: boolean) => {
    const found = lookAtHomeEntry(home, join(home, path));
    if (found === null) return;
    for (const link of found.links) links.set(link.path, link.target);
    if (found.kind === "folder") folders.add(found.path);
    if (found.kind === "file") files.set(found.path, whole);
  };
  for (const path of ALLOWED_FILES) show(path, false);
  for (const path of [...ALLOWED_FOLDERS, ...named]) show(path, named.includes(path));
  const outermost = (path: string) => [...folders].every((other) => other === path || !isInside(other, path));
  return {
    path: home,
    folders: [...folders].filter(outermost),
    files: [...files].filter(([path]) => outermost(path)).map(([path, whole]) => ({ path, whole })),
    links: [...links].filter(([path]) => outermost(path)).map(([path, target]) => ({ path, target })),
  };
}

/** An entry of the user as a path relative to the home; nothing where it is the home itself or leads out of it. */
function belowHome(home: string, entry: string): string[] {
  const path = normalize(entry.replace(/^(~|\$HOME)\//, "")).replace(/\/+$/, "");
  const below = isAbsolute(path) ? relative(home, path) : path;
  return below === "" || below === "." || below === "~" || below.startsWith("..") ? [] : [below];
}

interface SeenHomeEntry {
  readonly kind: "folder" | "file" | "elsewhere";
  /** Without a link on the way. */
  readonly path: string;
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/**
 * Where a name leads. A link that stays in the home is shown with what it leads to; one that leads to the home itself,
 * or above it, is not followed: it would show everything.
 */
function lookAtHomeEntry(home: string, path: string): SeenHomeEntry | null {
  try {
    const stats = statSync(path);
    const real = realpathSync(path);
    const own = join(realpathSync(dirname(path)), path.slice(dirname(path).length + 1));
    if (isInside(real, home) || !isInside(home, own)) return null;
    const links = lstatSync(own).isSymbolicLink() ? [{ path: own, target: real }] : [];
    if (!isInside(home, real)) return { kind: "elsewhere", path: real, links };
    if (stats.isDirectory()) return { kind: "folder", path: real, links };
    return stats.isFile() ? { kind: "file", path: real, links } : null;
  } catch {
    return null;
  }
}
