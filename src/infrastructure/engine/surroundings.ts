import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Installation } from "../platform/runtime-installation.ts";
import { isInside, rootsFor } from "./git-roots.ts";
import type { Storage } from "./job-storage.ts";
import { findHomeSecrets } from "./home-secrets.ts";
import { findHostSockets } from "./host-sockets.ts";
import { findMachineHomes } from "./machine-homes.ts";
import type { SandboxPlan } from "./sandbox-plan.ts";
import { findShownHome, type ShownHome } from "./shown-home.ts";
import { systemSecrets } from "./system-secrets.ts";
import { realOrNull, userHomes } from "./user-homes.ts";

export interface Surroundings
  extends Pick<SandboxPlan, "hidden" | "closed" | "homes" | "veiled" | "readable" | "files" | "sockets"> {
  /** The home that the job gets in private; null where there is none, or the workspace holds it. */
  readonly shown: ShownHome | null;
}

export interface SurroundingsDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly storage: Storage;
  /** PicoClaw's home. */
  readonly home: string;
  readonly confined: boolean;
  readonly allowSshAgent: boolean;
  /** What commands may see of the home beyond what tools need. */
  readonly homeAllow: readonly string[];
}

/** Private in every sandbox, so that nothing of the host below them shows. */
const PRIVATE_FOLDERS = ["/run", "/tmp", "/var/tmp", "/dev"];

/** What a sandbox has around its roots: what is hidden from its commands, and what must be there. */
export function findSurroundings(wiring: SurroundingsDeps, installation: Installation): Surroundings {
  const { env, storage, home, confined } = wiring;
  const sockets = allowedSockets(wiring);
  if (!confined)
    return {
      shown: null,
      hidden: [],
      closed: [],
      homes: [],
      veiled: [],
      readable: [],
      files: [],
      sockets,
    };
  const uid = process.getuid?.() ?? 0;
  const roots = rootsFor(storage.workspace);
  const mine = userHomes(env.HOME, uid);
  const at = realOrNull(env.HOME || homedir());
  const inRoot = (path: string) => roots.some((root) => isInside(root, path));
  const holdsRoot = (path: string) => roots.some((root) => isInside(path, root));
  const userHome = mine.find((one) => one === at && !inRoot(one)) ?? null;
  const own = [home, storage.folder, ...otherStorages(home)];
  // A workspace that holds the home is shown whole, but for what is known to be secret.
  const secrets = mine.filter(inRoot).flatMap(findHomeSecrets);
  const homes = findMachineHomes({ mine, userHome, homeAllow: wiring.homeAllow, path: env.PATH ?? "" });
  const covered = [...(userHome === null ? [] : [userHome]), ...homes.map(({ path }) => path)];
  const reachable = findHostSockets([...PRIVATE_FOLDERS, ...roots, ...covered]);
  return {
    shown: userHome === null ? null : findShownHome(userHome, wiring.homeAllow),
    homes: homes.filter(({ path }) => !inRoot(path)),
    closed: uid === 0 ? systemSecrets().filter(({ path }) => !holdsRoot(path) && !inRoot(path)) : [],
    hidden: [
      ...own.filter((path) => !holdsRoot(path)),
      ...secrets.filter((path) => !holdsRoot(path) && !own.includes(path)),
      ...reachable.filter((socket) => !sockets.includes(socket)),
    ],
    veiled: own.filter(holdsRoot),
    readable: [installation.folder, dirname(installation.runtime)],
    files: resolverFile(),
    sockets,
  };
}

export function allowedSockets({ env, allowSshAgent }: SurroundingsDeps): string[] {
  return allowSshAgent && env.SSH_AUTH_SOCK ? [env.SSH_AUTH_SOCK] : [];
}

/** Where other workspaces keep their jobs when that is not in PicoClaw's home. */
function otherStorages(home: string): string[] {
  const workspaces = join(home, "workspaces");
  if (!existsSync(workspaces)) return [];
  return readdirSync(workspaces).flatMap((id) => {
    const pointer = join(workspaces, id, "location");
    return existsSync(pointer) ? [readFileSync(pointer, "utf8").trim()] : [];
  });
}

/** Names are looked up by a file that often lies in a folder that is private here. */
function resolverFile(): string[] {
  const file = realOrNull("/etc/resolv.conf");
  return file !== null && PRIVATE_FOLDERS.some((folder) => isInside(folder, file)) ? [file] : [];
}
