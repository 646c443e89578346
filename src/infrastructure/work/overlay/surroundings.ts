import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Installation } from "../../runtime/installation.ts";
import { isInside, rootsFor } from "../transaction/git-roots.ts";
import type { Storage } from "../transaction/storage.ts";
import { secretsIn } from "./home-secrets.ts";
import { socketsOutside } from "./host-sockets.ts";
import type { SandboxPlan } from "./sandbox.ts";
import { realOrNull, userHomes } from "./user-homes.ts";

export interface Surroundings
  extends Pick<SandboxPlan, "hidden" | "veiled" | "readable" | "files" | "sockets"> {
  /** The home that gets a private layer; null where there is none, or the workspace holds it. */
  readonly userHome: string | null;
  /** What that layer hides. */
  readonly secrets: readonly string[];
}

export interface SurroundingsParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly storage: Storage;
  /** PicoClaw's home. */
  readonly home: string;
  readonly confined: boolean;
  readonly allowSshAgent: boolean;
}

/** Private in every sandbox, so that nothing of the host below them shows. */
const PRIVATE = ["/run", "/tmp", "/var/tmp", "/dev"];

/** What a sandbox has around its roots: what is hidden from its commands, and what must be there. */
export function surroundingsOf(wiring: SurroundingsParts, installation: Installation): Surroundings {
  const { env, storage, home, confined } = wiring;
  const sockets = allowedSockets(wiring);
  if (!confined)
    return { userHome: null, secrets: [], hidden: [], veiled: [], readable: [], files: [], sockets };
  const roots = rootsFor(storage.workspace);
  const homes = userHomes(env.HOME, process.getuid?.() ?? 0);
  const at = realOrNull(env.HOME || homedir());
  const userHome = homes.find((one) => one === at && !roots.some((root) => isInside(root, one))) ?? null;
  const own = [home, storage.folder, ...otherStorages(home)];
  const unseen = [...homes.flatMap(secretsIn), ...own];
  const inHome = (path: string) => userHome !== null && isInside(userHome, path) && path !== userHome;
  const holdsRoot = (path: string) => roots.some((root) => isInside(path, root));
  const reachable = socketsOutside([...PRIVATE, ...roots, ...(userHome === null ? [] : [userHome])]);
  return {
    userHome,
    secrets: unseen.filter((path) => inHome(path) && !holdsRoot(path)),
    hidden: [
      ...own.filter((path) => !holdsRoot(path)),
      ...unseen.filter((path) => !inHome(path) && !holdsRoot(path) && !own.includes(path)),
      ...reachable.filter((socket) => !sockets.includes(socket)),
    ],
    veiled: own.filter(holdsRoot),
    readable: [installation.folder, dirname(installation.runtime)],
    files: resolverFile(),
    sockets,
  };
}

export function allowedSockets({ env, allowSshAgent }: SurroundingsParts): string[] {
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
  return file !== null && PRIVATE.some((folder) => isInside(folder, file)) ? [file] : [];
}
