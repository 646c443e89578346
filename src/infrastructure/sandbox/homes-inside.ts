import { type Dirent, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, normalize, relative } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readGitIndex } from "../../domain/platform/git-index.ts";
import { isInside } from "../../domain/platform/paths.ts";
import type { Protection } from "../../domain/policy/protection.ts";
import { createHomeRules, ruleInHome } from "../../domain/sandbox/home-files.ts";
import { isFolder, realPathOf } from "../platform/text-files.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** A user's home as the environment names it and as the system does; each once, as real paths, `/` left out. */
export function userHomes(named: string | undefined, uid: number, accounts?: string): string[] {
  const known = readAccounts(accounts).find((fields) => fields[2] === String(uid))?.[5];
  const real = [named, known].map((path) => (path ? realPathOf(path) : null));
  return [...new Set(real)].filter(
    (path): path is string => path !== null && path !== "/" && statSync(path).isDirectory(),
  );
}

/** Homes of people on this machine, root's among them. */
export function peoplesHomes(): string[] {
  const isPerson = (uid: number) => uid === 0 || (uid >= 1000 && uid < 65534);
  return readAccounts()
    .filter((fields) => fields.length > 5 && isPerson(Number(fields[2])))
    .flatMap((fields) => realPathOf(fields[5] ?? "") ?? [])
    .filter((path) => path !== "/");
}

/** Each account's fields. */
function readAccounts(text = attemptOr("", () => readFileSync("/etc/passwd", "utf8"))): string[][] {
  return text.split("\n").map((line) => line.split(":"));
}

/** The homes that are this folder or are in it: the user's, and those of others. */
export function findHomesInside(root: string, env: Variables): string[] {
  const mine = userHomes(env.HOME || homedir(), process.getuid?.() ?? 0);
  return [...new Set([...mine, ...peoplesHomes()])].filter((home) => isInside(root, home));
}

export interface HomeSettings {
  readonly env: Variables;
  /** `worker.home_writes`: paths with or without `~/`. */
  readonly homeWrites: readonly string[];
}

/** The rules for those paths of a workspace that belong to a home in it; a function that finds none where no home is. */
export function readHomeRules(root: string, { env, homeWrites }: HomeSettings): Protection["ofHome"] {
  const homes = findHomesInside(root, env);
  if (homes.length === 0) return () => null;
  const inRoot = (path: string) => relative(root, path);
  const searched = (env.PATH ?? "").split(":").flatMap((folder) => realPathOf(folder) ?? []);
  const programs = searched.filter((folder) =>
    homes.some((home) => home !== folder && isInside(home, folder)),
  );
  if (process.platform === "darwin") programs.push(...homes.map((home) => join(home, "Library")));
  return createHomeRules({
    homes: homes.map(inRoot),
    programs: programs.map(inRoot),
    linked: () => homes.flatMap((home) => findLinked(home, root)).map(inRoot),
    tracked: (home) => trackedNames(join(root, home)),
    writable: homes.flatMap((home) => namedInHome(home, homeWrites)).map(inRoot),
  });
}

/** An entry of the user as a path relative to the home; nothing where it is the home itself or leads out of it. */
export function belowHome(home: string, entry: string): string[] {
  const path = normalize(entry.replace(/^(~|\$HOME)\//, "")).replace(/\/+$/, "");
  const below = isAbsolute(path) ? relative(home, path) : path;
  return below === "" || below === "." || below === "~" || below.startsWith("..") ? [] : [below];
}

export function namedInHome(home: string, entries: readonly string[]): string[] {
  return entries.flatMap((entry) => belowHome(home, entry)).map((path) => join(home, path));
}

/** Names directly in a home that its own repository tracks: a home can be a project's folder. */
function trackedNames(home: string): ReadonlySet<string> {
  return attemptOr(new Set(), () => {
    const entries = readGitIndex(readFileSync(join(home, ".git/index"))) ?? [];
    return new Set(entries.map(({ path }) => path.split("/")[0] as string));
  });
}

/** How many entries are looked at for links, and down to which depth: `.config/nvim/init.lua`. */
const MOST_ENTRIES = 5_000;
const DEEPEST = 3;

/** The targets of links among a home's own names: users who keep dotfiles in a separate folder still depend on them. */
function findLinked(home: string, root: string): string[] {
  const found = new Set<string>();
  let seen = 0;
  walkHome(home, (entry, path, rule) => {
    if (rule === null || rule === "cache" || seen++ > MOST_ENTRIES) return false;
    const real = entry.isSymbolicLink() ? realPathOf(join(home, path)) : null;
    // One that leads to a home, or above it, would make everything its own.
    if (real !== null && real !== root && isInside(root, real) && !isInside(real, home)) found.add(real);
    return true;
  });
  return [...found];
}

/** The names of a home, with what the home's rules say of each; `use` answers whether those in a folder are walked too. */
function walkHome(
  home: string,
  use: (entry: Dirent, path: string, rule: ReturnType<typeof ruleInHome>) => boolean,
): void {
  const look = (folder: string, depth: number) => {
    for (const entry of entriesOf(join(home, folder))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (use(entry, path, ruleInHome(path)) && entry.isDirectory() && depth < DEEPEST) look(path, depth + 1);
    }
  };
  look("", 1);
}

export function entriesOf(folder: string): Dirent[] {
  return attemptOr([], () => readdirSync(folder, { withFileTypes: true }));
}

export interface HiddenRequest {
  readonly home: string;
  readonly root: string;
  /** Paths that stay in sight, with all that is in them. */
  readonly shown: readonly string[];
}

/** The names of a home inside a workspace that commands must not see. Parents of shown names stay, links are hidden by their targets. */
export function findHiddenInHome({ home, root, shown }: HiddenRequest): string[] {
  const isShown = (path: string) => shown.some((one) => isInside(one, path));
  const isWay = (path: string) => shown.some((one) => isInside(path, one));
  const tracked = trackedNames(home);
  const hidden = new Set<string>();
  const look = (folder: string) => {
    for (const { name } of entriesOf(folder)) {
      const path = join(folder, name);
      const below = relative(home, path);
      const rule = ruleInHome(below);
      if (!name.startsWith(".") && folder === home) continue;
      if (rule === null || (rule === "state" && tracked.has(below.split("/")[0] as string))) continue;
      if (isShown(path)) continue;
      if (isWay(path) && isFolder(path)) look(path);
      else if (!isWay(path)) for (const one of placesOf(path, root)) hidden.add(one);
    }
  };
  look(home);
  return [...hidden].filter((path) => !isInside(path, home));
}

export interface ObeyedSearch {
  /** Links count as well: no mount can cover one, but a program follows it. */
  readonly links: boolean;
}

/** Entries of homes in a workspace that programs obey, for a process whose writes are live; `homeWrites` are left out. */
export function findObeyedInHomes(
  root: string,
  { env, homeWrites }: HomeSettings,
  { links }: ObeyedSearch,
): string[] {
  return findHomesInside(root, env).flatMap((home) => {
    const writable = namedInHome(home, homeWrites);
    const found: string[] = [];
    walkHome(home, (entry, path, rule) => {
      const absolute = join(home, path);
      const isFound =
        rule === "obeyed" &&
        (links || !entry.isSymbolicLink()) &&
        !writable.some((one) => isInside(absolute, one));
      if (isFound) found.push(absolute);
      return !isFound && rule !== null && rule !== "cache";
    });
    return found;
  });
}

/** A mount over a link covers what it leads to. */
function placesOf(path: string, root: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (!stats.isSymbolicLink()) return [path];
  const real = realPathOf(path);
  return real !== null && real !== root && isInside(root, real) ? [real] : [];
}

/** The paths of PicoClaw itself in a workspace: its jobs, and its home. */
export function ownPathsInside(root: string, storage: string | null, home: string): readonly string[] {
  const homeInside = relative(root, home);
  const paths = [storage, homeInside.startsWith("..") ? null : homeInside];
  return paths.filter((path): path is string => path !== null && path !== "");
}
