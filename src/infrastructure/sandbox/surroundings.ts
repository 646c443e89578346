import { accessSync, constants, lstatSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { rootsFor } from "../platform/git-roots.ts";
import type { Installation } from "../platform/installation.ts";
import { mountPoints, mountsAreShared } from "../platform/mount-points.ts";
import { realPathOf } from "../platform/text-files.ts";
import { walkFolder } from "../platform/walk-folder.ts";
import { foreignStorages, type Storage } from "../platform/workspace-storage.ts";
import { findShownHome, type ShownHome } from "./home.ts";
import { ALLOWED_FILES, ALLOWED_FOLDERS, findHomeSecrets } from "./home-lists.ts";
import {
  entriesOf,
  findHiddenInHome,
  findHomesInside,
  namedInHome,
  peoplesHomes,
  userHomes,
} from "./homes-inside.ts";
import type { SandboxPlan } from "./sandbox-plan.ts";

/** Sockets of this machine that a process could reach by path, but for those below the given folders. */
function findHostSockets(folders: readonly string[]): string[] {
  return listSocketNames().filter(
    (path) => path.startsWith("/") && !folders.some((folder) => isInside(folder, path)) && isSocket(path),
  );
}

/** Sockets of this machine below a folder. A name that its program wrote without the folder is looked for in it. */
export function findSocketsBelow(folder: string): string[] {
  const names = listSocketNames();
  const found = new Set(names.filter((path) => isInside(folder, path) && isSocket(path)));
  const short = new Set(names.filter((name) => !/^[/@]/.test(name)).map((name) => basename(name)));
  if (short.size > 0)
    for (const { path } of walkFolder(folder))
      if (short.has(basename(path)) && isSocket(join(folder, path))) found.add(join(folder, path));
  return [...found];
}

/** As the programs that listen on them wrote them; one that begins with `@` has no path. */
function listSocketNames(): string[] {
  const names = attemptOr("", () => readFileSync("/proc/net/unix", "utf8"))
    .split("\n")
    .flatMap((line) => /^(?:\S+ +){7}(.+)$/.exec(line)?.[1] ?? []);
  return [...new Set(names)];
}

function isSocket(path: string): boolean {
  return attemptOr(false, () => lstatSync(path).isSocket());
}

/** A package manager for all users that is installed among the homes. */
const SHARED_TOOLS = "/home/linuxbrew/.linuxbrew";

/** Homes beside the job's private one. They look empty but for tools, where the user owns them by another name or PATH leads there. */
function findMachineHomes({
  mine,
  userHome,
  homeAllow,
  path,
}: {
  readonly mine: readonly string[];
  readonly userHome: string | null;
  readonly homeAllow: readonly string[];
  readonly path: string;
}): SandboxPlan["homes"] {
  const people = [...mine, ...peoplesHomes()];
  const folders = [...new Set(["/home", ...people])].filter(
    (folder) => folder !== userHome && isOpen(folder),
  );
  const isCovered = (folder: string) =>
    (userHome !== null && isInside(userHome, folder)) ||
    folders.some((other) => other !== folder && isInside(other, folder));
  const inPath = (home: string) => path.split(":").some((folder) => isInside(home, folder));
  const tools = [...new Set(people)]
    .filter((home) => home !== userHome && (mine.includes(home) || inPath(home)))
    .flatMap((home) => findShownHome(home, mine.includes(home) ? homeAllow : []).folders)
    .filter((folder) => userHome === null || !isInside(folder, userHome));
  const shown = [...tools, ...(realPathOf(SHARED_TOOLS) === SHARED_TOOLS ? [SHARED_TOOLS] : [])];
  return folders
    .filter((folder) => !isCovered(folder))
    .map((folder) => ({ path: folder, shown: shown.filter((tool) => isInside(folder, tool)) }));
}

/** A folder that the user cannot enter needs no hiding. */
function isOpen(folder: string): boolean {
  return succeeds(() => accessSync(folder, constants.X_OK));
}

/** Where a system keeps what only root may read, and how deep to look for it. */
const SYSTEM_SECRET_FOLDERS = [
  { folder: "/etc", depth: 4 },
  { folder: "/var/lib", depth: 1 },
  { folder: "/var/spool", depth: 1 },
  { folder: "/var/backups", depth: 1 },
  { folder: "/var/log", depth: 1 },
] as const;

/** Root reads files by owning them: those that no ordinary user may read (`/etc/shadow`) are hidden from a job of root by name. */
function systemSecrets(): SandboxPlan["closed"] {
  return SYSTEM_SECRET_FOLDERS.flatMap(({ folder, depth }) => closedBelow(folder, depth));
}

function closedBelow(folder: string, depth: number): { path: string; isFolder: boolean }[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    const isFolder = entry.isDirectory();
    if (!isFolder && !entry.isFile()) return [];
    const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0o777;
    if ((mode & (isFolder ? 0o001 : 0o004)) === 0) return [{ path, isFolder }];
    return isFolder && depth > 1 ? closedBelow(path, depth - 1) : [];
  });
}

export interface Surroundings
  extends Pick<
    SandboxPlan,
    "hidden" | "closed" | "screened" | "sharesMounts" | "homes" | "veiled" | "readable" | "files" | "sockets"
  > {
  /** The home that the job gets in private; null where there is no home, or the workspace holds it. */
  readonly shown: ShownHome | null;
  /** Those of `hidden` that belong to homes in the workspace. */
  readonly hiddenInHomes: readonly string[];
}

export interface SurroundingsDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly storage: Storage;
  readonly home: string;
  readonly confined: boolean;
  readonly allowSshAgent: boolean;
  /** The paths of the home that commands may see beyond those that tools need. */
  readonly homeAllow: readonly string[];
  /** The paths of a home in the workspace that jobs may change. */
  readonly homeWrites: readonly string[];
  readonly emptied?: EmptiedFolders | undefined;
}

/** Further folders of this machine that must look empty, but for these folders in them, which are read-only. */
export interface EmptiedFolders {
  readonly folders: readonly string[];
  readonly shown: readonly string[];
}

/** Private in every sandbox, so that nothing of the host below them shows. */
const PRIVATE_FOLDERS = ["/run", "/tmp", "/var/tmp", "/dev"];

/** The paths hidden from a sandbox's commands, and the paths that must exist. */
export function findSurroundings(wiring: SurroundingsDeps, installation: Installation): Surroundings {
  const { env, storage, home, confined } = wiring;
  const sockets = allowedSockets(wiring);
  if (!confined)
    return {
      shown: null,
      hiddenInHomes: [],
      hidden: [],
      closed: [],
      screened: [],
      sharesMounts: mountsAreShared(),
      homes: [],
      veiled: [],
      readable: [],
      files: [],
      sockets,
    };
  const uid = process.getuid?.() ?? 0;
  const roots = rootsFor(storage.workspace);
  const mine = userHomes(env.HOME, uid);
  const at = realPathOf(env.HOME || homedir());
  const inRoot = (path: string) => roots.some((root) => isInside(root, path));
  const holdsRoot = (path: string) => roots.some((root) => isInside(path, root));
  const userHome = mine.find((one) => one === at && !inRoot(one)) ?? null;
  const own = [...new Set([home, storage.outer, ...foreignStorages(home)])];
  const { folders: emptied, shown: spared } = wiring.emptied ?? { folders: [], shown: [] };
  const readable = [installation.folder, dirname(installation.runtime), ...spared];
  const hiddenInHomes = hideInHomes(wiring, [...readable, ...own]).filter((path) => !holdsRoot(path));
  // Paths in a private folder, or in one that is shown empty, need no rule.
  const isCovered = (path: string) =>
    holdsRoot(path) ||
    [...PRIVATE_FOLDERS, ...(userHome === null ? [] : [userHome])].some((one) => isInside(one, path)) ||
    emptied.some((other) => other !== path && isInside(other, path));
  const homes = [
    ...findMachineHomes({ mine, userHome, homeAllow: wiring.homeAllow, path: env.PATH ?? "" }),
    ...emptied.filter((path) => !isCovered(path)).map((path) => ({ path, shown: [] })),
  ];
  const covered = [...(userHome === null ? [] : [userHome]), ...homes.map(({ path }) => path)];
  const reachable = findHostSockets([...PRIVATE_FOLDERS, ...roots, ...covered]);
  return {
    hiddenInHomes,
    shown: userHome === null ? null : findShownHome(userHome, wiring.homeAllow),
    homes: homes.filter(({ path }) => !inRoot(path)),
    closed: uid === 0 ? systemSecrets().filter(({ path }) => !holdsRoot(path) && !inRoot(path)) : [],
    hidden: [
      ...own.filter((path) => !holdsRoot(path)),
      ...hiddenInHomes,
      ...reachable.filter((socket) => !sockets.includes(socket)),
    ],
    screened: findScreened("/", {
      mounts: [...mountPoints(), ...PRIVATE_FOLDERS],
      spared: [...PRIVATE_FOLDERS, ...KERNEL_FOLDERS, ...roots, ...covered],
      links: sockets,
    }),
    sharesMounts: mountsAreShared(),
    veiled: [...own, ...emptied].filter(holdsRoot),
    readable,
    files: resolverFile(),
    sockets,
  };
}

/** A home in the workspace cannot be private: commands see of it what they see of any home, and documents. Known secrets are hidden. */
function hideInHomes(
  { env, storage, homeAllow, homeWrites }: SurroundingsDeps,
  needed: readonly string[],
): string[] {
  const root = storage.workspace;
  return findHomesInside(root, env).flatMap((home) => {
    const named = namedInHome(home, [...homeAllow, ...homeWrites]);
    const tools = [...ALLOWED_FOLDERS, ...ALLOWED_FILES].map((path) => join(home, path));
    const hidden = findHiddenInHome({ home, root, shown: [...tools, ...named, ...needed] });
    const secrets = findHomeSecrets(home).filter((path) => !named.includes(path));
    const isNew = (path: string) => !hidden.some((one) => isInside(one, path));
    return [...hidden, ...secrets.filter((path) => isNew(path) && !needed.includes(path))];
  });
}

const KERNEL_FOLDERS = ["/proc", "/sys"];

/** The folders of the machine as high up as mounts permit, since a layer does not show mounts below it. Private folders need none. */
function findScreened(
  folder: string,
  deps: {
    readonly mounts: readonly string[];
    readonly spared: readonly string[];
    readonly links: readonly string[];
  },
): string[] {
  const { mounts, spared, links } = deps;
  if (spared.some((one) => isInside(one, folder)) || !isOpen(folder)) return [];
  const isWay = (path: string) => path !== folder && isInside(folder, path);
  if (folder !== "/" && !mounts.some(isWay) && !links.some(isWay)) return [folder];
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => findScreened(join(folder, name), deps));
}

export function allowedSockets({ env, allowSshAgent }: SurroundingsDeps): string[] {
  return allowSshAgent && env.SSH_AUTH_SOCK ? [env.SSH_AUTH_SOCK] : [];
}

/** Names are looked up by a file that is often in a folder that is private here. */
function resolverFile(): string[] {
  const file = realPathOf("/etc/resolv.conf");
  return file !== null && PRIVATE_FOLDERS.some((folder) => isInside(folder, file)) ? [file] : [];
}
