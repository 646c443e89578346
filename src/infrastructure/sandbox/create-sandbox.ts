import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  BeginResult,
  CheckViewRequest,
  HeadSurroundings,
  HomeTraces,
  NetworkTraffic,
  StartedBy,
} from "../../application/ports/jobs-transaction.ts";
import type { Staging } from "../../application/ports/sandbox.ts";
import type { TransactionReason } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import type { NetworkRules } from "../../domain/policy/network.ts";
import { HOME_LAYER, type JobFolder, type Plan } from "../jobs/job-folder.ts";
import { SYSTEM_PATH } from "../platform/find-program.ts";
import { rootsFor } from "../platform/git-roots.ts";
import { findInstallation, type Installation, threadEntry } from "../platform/installation.ts";
import { mountPoints } from "../platform/mount-points.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { workspaceId } from "../platform/workspace-storage.ts";
import {
  adoptHome,
  findHiddenHomePaths,
  findNamedInHomes,
  keepContentCaches,
  listHomeTraces,
  openPrivateHome,
  openStackedHome,
  placeHomeFiles,
  type ShownHome,
} from "./home.ts";
import { findObeyedInHomes } from "./homes-inside.ts";
import type { JobLimits } from "./job-limits.ts";
import { createLimitCopy } from "./limited-copy.ts";
import type { NamedHosts, NetworkSettings, NetworksSettings } from "./network-settings.ts";
import {
  type LimitedNetwork,
  limitedNetwork,
  type SandboxNetwork,
  sandboxEnvironment,
} from "./sandbox-plan.ts";
import { findSecretFiles, type SecretRules } from "./secret-files.ts";
import { forgetSuccess, isRealRoot, recallSuccess, rememberFailure, rememberSuccess } from "./staging.ts";
import { type Confinement, confineCopy, type OpenedSandbox } from "./start-executor.ts";
import { allowedSockets, findSurroundings, type SurroundingsDeps } from "./surroundings.ts";

interface ForeignFilesMemory {
  /** The caller and its question. */
  readonly asked: string;
  /** Bytes as latin1: a name need not be text. */
  readonly found: string | null;
}

/** An ordinary user's overlay cannot copy up files of another owner or group (EOVERFLOW). Whether there are any is asked once. */
function createForeignFiles(deps: { readonly roots: readonly string[]; readonly memory: string }) {
  const { roots } = deps;
  const file = join(deps.memory, "foreign-files.json");
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  const isForeign = ["(", "!", "-uid", String(uid), "-o", "!", "-gid", String(gid), ")"];
  const mayChange = ["!", "-type", "l", "(", "-uid", String(uid), "-o", "-writable", ")"];

  /** A new user, other groups or another folder in the place of a root invalidates the remembered answer. */
  function asked(): string {
    const identities = roots.map((root) => {
      const { dev, ino, uid, gid } = lstatSync(root);
      return [root, dev, ino, uid, gid].join(":");
    });
    return [uid, gid, process.getgroups?.().sort().join(","), ...identities].join(" ");
  }

  function recall(): ForeignFilesMemory | null {
    return attemptOr(null, () => {
      const memory = JSON.parse(readFileSync(file, "utf8")) as ForeignFilesMemory;
      if (memory.asked !== asked()) return null;
      return memory.found === null || stillForeign(memory.found) ? memory : null;
    });
  }

  function stillForeign(path: string): boolean {
    const stats = lstatSync(Buffer.from(path, "latin1"), { throwIfNoEntry: false });
    return stats !== undefined && (stats.uid !== uid || stats.gid !== gid);
  }

  function remember(found: string | null): string | null {
    writeFileSync(file, JSON.stringify({ asked: asked(), found } satisfies ForeignFilesMemory));
    return found === null ? null : Buffer.from(found, "latin1").toString("utf8");
  }

  function search(test: readonly string[]): string | null {
    const ran = spawnSync("find", [...roots, "-xdev", ...test, "-print0", "-quit"], {
      encoding: "latin1",
      env: { PATH: SYSTEM_PATH, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 60_000,
    });
    return ran.stdout?.split("\0")[0] || null;
  }

  return {
    /** One that the user may change, and an overlay could not; null where there is none. */
    find(): string | null {
      const known = recall();
      return remember(known === null ? search([...isForeign, ...mayChange]) : known.found);
    },
    /** An overlay met one: any that exists now, remembered for the next job; null where there is none. */
    met(): string | null {
      const found = search(isForeign);
      return found === null ? null : remember(found);
    },
  };
}

export interface OpenNetwork {
  readonly plan: SandboxNetwork;
  readonly takeTraffic?: () => NetworkTraffic;
  /** Idempotent. */
  readonly release: () => Promise<void>;
}

function toRules({ allowed_domains: allowed, denied_domains: denied }: NetworkSettings): NetworkRules {
  return { allowed, denied };
}

function isAnyNetworkLimited({ own, model }: NetworksSettings): boolean {
  return own.mode !== "on" || model.mode !== "on";
}

/** What is not known to be a person's, a head's or a check's is a model's. */
function isModels(startedBy: StartedBy): boolean {
  return startedBy !== "user" && startedBy !== "head" && startedBy !== "check";
}

/** The network that a sandbox will have; the proxy's socket does not exist yet. */
function networkPlan(
  { own, model }: NetworksSettings,
  { startedBy, network }: SandboxedCommands,
): SandboxNetwork {
  const { mode } = isModels(startedBy) ? model : own;
  if (!network || mode === "off") return "none";
  return mode === "on" ? "host" : { proxy: SOCKET };
}

/**
 * The network of one job. With an allow-list that is a proxy of its own, on a socket in the job's folder; the proxy and its list are
 * loaded with the first connection, because most commands make none.
 */
async function openNetwork(
  deps: SandboxDeps,
  job: string,
  commands: SandboxedCommands,
): Promise<OpenNetwork> {
  const plan = networkPlan(deps.networks, commands);
  if (typeof plan === "string") return { plan, release: async () => {} };
  const { openLazyProxy } = await import("./lazy-proxy.ts");
  const path = join(job, SOCKET);
  const proxy = openLazyProxy({
    folder: job,
    name: SOCKET,
    env: deps.env,
    findRules: async () => {
      const { networks, storage, home } = deps;
      if (!isModels(commands.startedBy)) return { rules: toRules(networks.own), isModels: false };
      const { findModelRules } = await import("./model-hosts.ts");
      const named = await deps.readHosts();
      return {
        rules: findModelRules({ networks, workspace: storage.workspace, home, named }),
        isModels: true,
      };
    },
  });
  return { plan: { proxy: path }, takeTraffic: proxy.takeTraffic, release: proxy.release };
}

const SOCKET = "proxy";

export interface OverlayDeps {
  /** Where layers are moved for a check; null if they may stay. The kernel takes no layer inside another (a storage in the workspace). */
  readonly liftTo: string | null;
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly installation: Installation;
  readonly env: Readonly<Record<string, string>>;
  /** The same as `openSandbox` for a sandbox whose changes are discarded; they are in a separate folder. */
  readonly openThrowAway: (
    into: string,
    options: Pick<CheckViewRequest, "startedBy" | "network" | "over" | "home"> & { readonly caches: string },
  ) => Promise<OpenedSandbox>;
  readonly keepCaches: (home: string, caches: string) => void;
  readonly openSandbox: (head?: HeadSurroundings) => Promise<OpenedSandbox>;
  readonly homes: () => HomeTraces;
  /** The job stays open: nothing is started yet. */
  readonly resting: boolean;
  /** It stays open, and may have to be merged with changes of others. */
  readonly keepsBytes: boolean;
  /** A head may work in it: its home is visible to no other job. */
  readonly takesHeads: boolean;
  readonly onComplaint: () => void;
  /** Called before the sealed layers of a job to be committed are removed. Returns the place of a home that was put aside. */
  readonly onCommit: () => string | null;
  /** Called with the plan of a job that is about to be committed. */
  readonly onSealed?: ((plan: Plan) => void) | undefined;
  readonly hiddenHome: (words: string) => readonly string[];
  /** The files that commands started so may not read; absolute. */
  readonly secretFiles: (startedBy: StartedBy) => readonly string[];
  readonly startedBy: StartedBy;
  /** Real root makes the mounts. */
  readonly redirects: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly limited: LimitedNetwork["network"];
  /** Looks for the file of another owner or group at which an overlay failed, and remembers it. Absent where no copy could serve. */
  readonly metForeign?: () => string | null;
}

/** The commands of one sandbox. `network`: whether they get the network that the settings give to such commands. */
type SandboxedCommands = Pick<CheckViewRequest, "startedBy" | "network">;

export type OverlayBeginResult =
  | BeginResult
  | { readonly ok: false; readonly complaint: string; readonly reason?: TransactionReason };

export interface OverlayOptions {
  readonly startedBy: StartedBy;
  readonly network: boolean;
  /** The job stays open, and is woken when it is needed. */
  readonly resting: boolean;
  readonly preview: boolean;
  /** Files of other owners or groups are no reason to refuse. */
  readonly despiteForeign?: boolean;
  /** Called with the plan of a sealed job that is about to be committed. */
  readonly onSealed?: (plan: Plan) => void;
}

export interface Sandbox extends Confinement {
  overlay(folder: JobFolder, options: OverlayOptions): Promise<OverlayBeginResult>;
  /** Called when an overlay could not be made: why a copy serves instead, or null where none may. */
  fallsBack(complaint: string): TransactionReason | null;
}

export interface SandboxDeps extends SurroundingsDeps {
  /** Nothing may run unconfined. */
  readonly mustConfine: boolean;
  readonly networks: NetworksSettings;
  readonly readHosts: () => Promise<NamedHosts>;
  readonly limits: JobLimits;
  readonly staging: Staging;
  /** What a model's commands may not read. */
  readonly secrets: SecretRules;
  /** Stages a job in an overlay; the engine above does. */
  readonly beginOverlay: (deps: OverlayDeps) => Promise<OverlayBeginResult>;
  /** Default: this program's own. */
  readonly installation?: Installation;
}

/** `shared`: the home that jobs use in turn. `above`: a layer over these and the shared home. `caches`: a layer over this one alone. */
type HomeUse =
  | "shared"
  | { readonly caches: string; readonly head?: never }
  | { readonly above: readonly string[]; readonly head?: HeadSurroundings };

const MOST_TRACES = 500;

/** The sandbox of one workspace: which home, which folders hidden, which parts of the program visible. */
export function createSandbox(wiring: SandboxDeps): Sandbox {
  const { storage, staging } = wiring;
  const { workspace } = storage;
  const installation = wiring.installation ?? findInstallation();
  const bubblewrap = staging.bubblewrap ?? "bwrap";
  const shared = join(storage.folder, HOME_LAYER);
  const env = { PATH: wiring.env.PATH ?? "/usr/bin:/bin", HOME: wiring.env.HOME ?? "/" };

  /** Proxies that are being closed, by the folder of their job: the next one there takes the same name. */
  const leaving = new Map<string, Promise<void>>();

  async function openSandbox(
    job: string,
    commands: SandboxedCommands,
    home: HomeUse,
  ): Promise<OpenedSandbox> {
    const { shown, hiddenInHomes: _, ...found } = findSurroundings(wiring, installation);
    const head = typeof home === "string" ? undefined : home.head;
    if (head !== undefined && shown === null) throw new Error("a head needs a home of its own");
    const around = { ...found, readable: [...found.readable, ...(head?.readable ?? [])] };
    const opened = shown === null ? null : openHome(job, home, shown, around.readable);
    await leaving.get(job);
    const network = await openNetwork(wiring, job, commands);
    const sandbox: OpenedSandbox["sandbox"] = {
      ...around,
      bubblewrap,
      home: opened?.home ?? null,
      redirects: isRealRoot(),
      network: network.plan,
      headSocket: head?.socket ?? null,
      callersSocket: null,
      limits: wiring.limits,
      confined: wiring.confined,
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
    };
    const release = () => {
      const gone: Promise<void> = network.release().finally(() => {
        if (leaving.get(job) === gone) leaving.delete(job);
      });
      leaving.set(job, gone);
      return opened?.release() ?? null;
    };
    const homeAside = opened?.putAside ?? null;
    return { sandbox, homeAside, release, ...(network.takeTraffic && { takeTraffic: network.takeTraffic }) };
  }

  function openHome(job: string, use: HomeUse, shown: ShownHome, readable: readonly string[]) {
    const own = join(job, HOME_LAYER);
    const places = [...readable, ...rootsFor(workspace)];
    const parts = { shown, own, mounts: mountPoints(), places };
    if (use === "shared") return openPrivateHome({ ...parts, shared });
    if ("caches" in use) return openStackedHome({ ...parts, below: [use.caches] });
    const below = [...use.above, shared];
    if (use.head === undefined) return openStackedHome({ ...parts, below });
    const stacked = openStackedHome({ ...parts, own: use.head.home, below });
    placeHomeFiles(stacked.home, use.head.files);
    return stacked;
  }

  /** Only a model's commands are kept from reading them. */
  function secretFiles(startedBy: StartedBy): readonly string[] {
    if (startedBy !== "model") return [];
    const roots = rootsFor(workspace);
    const ownFolders = [wiring.home, storage.outer, storage.folder];
    return findSecretFiles({ workspace, roots, rules: wiring.secrets, memory: storage.folder, ownFolders });
  }

  /** Looked up when a command failed, and not before. */
  function hiddenHome(words: string): readonly string[] {
    const { shown, hiddenInHomes, readable } = findSurroundings(wiring, installation);
    if (shown === null) return findNamedInHomes(words, hiddenInHomes, env.HOME);
    return findHiddenHomePaths(words, { shown, seen: [...readable, ...rootsFor(workspace)], path: env.PATH });
  }

  return {
    async overlay(folder, { startedBy, network, resting, preview, despiteForeign = false, onSealed }) {
      // Real root can handle every owner; if an overlay is configured, it is used.
      const isOwnChoice = staging.reason === "configured" || despiteForeign || isRealRoot();
      const foreign = isOwnChoice
        ? null
        : createForeignFiles({ roots: rootsFor(workspace), memory: storage.folder });
      const found = foreign?.find() ?? null;
      if (found !== null)
        return { ok: false, complaint: `another owner or group: ${found}`, reason: "foreign-group" };
      const home: HomeUse = resting || preview ? { above: [] } : "shared";
      const own = join(folder.path, HOME_LAYER);
      const plan = networkPlan(wiring.networks, { startedBy, network });
      const sockets = allowedSockets(wiring);
      // A deferred sandbox starts when a copy is no longer possible, so the very first one starts at once.
      const isProven = resting && recallSuccess(storage.folder, bubblewrap);
      const liftTo = join(wiring.home, "workspaces", workspaceId(workspace));
      const begun = await wiring.beginOverlay({
        liftTo: storage.inside === null || isInside(workspace, liftTo) ? null : liftTo,
        workspace,
        folder,
        installation,
        env,
        resting: isProven,
        keepsBytes: resting,
        onComplaint: () => forgetSuccess(storage.folder),
        redirects: isRealRoot(),
        ...(foreign !== null && { metForeign: foreign.met }),
        environment: sandboxEnvironment({ confined: wiring.confined, sockets, network: plan }),
        limited: limitedNetwork(plan, undefined).network,
        openSandbox: (head) =>
          openSandbox(
            folder.path,
            { startedBy, network },
            head === undefined || home === "shared" ? home : { above: [own], head },
          ),
        takesHeads: resting && wiring.confined,
        openThrowAway: (into, { over, home: seen, caches, ...commands }) =>
          openSandbox(
            into,
            commands,
            seen === "bare" ? { caches } : { above: [...(over === "draft" ? [own] : []), caches] },
          ),
        homes: () => ({
          earlier: listHomeTraces(shared, 1).length > 0,
          own: listHomeTraces(own, MOST_TRACES),
        }),
        onCommit: () => (resting ? adoptHome(own, shared) : null),
        onSealed,
        keepCaches: keepContentCaches,
        hiddenHome,
        secretFiles,
        startedBy,
      });
      if (resting && !isProven && begun.ok) {
        await begun.transaction.layers?.rest();
        rememberSuccess(storage.folder, bubblewrap);
      }
      return begun;
    },
    fallsBack(complaint) {
      if (staging.reason === "configured" || staging.bubblewrap === null) return null;
      return rememberFailure(storage.folder, staging.bubblewrap, complaint);
    },
    obeyedInHomes: (search) => findObeyedInHomes(workspace, wiring, search),
    hiddenInHomes: () => findSurroundings(wiring, installation).hiddenInHomes,
    secretFiles,
    limit: () =>
      wiring.confined
        ? createLimitCopy(() => {
            const { shown, readable, files, closed } = findSurroundings(wiring, installation);
            const entry = threadEntry(installation, "limited");
            const { processes } = wiring.limits;
            return { entry, readable: [...readable, ...files], shown, closed, processes };
          })
        : null,
    confine: () =>
      (wiring.confined || isAnyNetworkLimited(wiring.networks)) && staging.bubblewrap !== null
        ? async (job, copies, { throwAway = false, callersSocket = null, hidden = [], ...commands }) => {
            if (!wiring.confined && networkPlan(wiring.networks, commands) === "host") return null;
            const home: HomeUse = throwAway ? { above: [] } : "shared";
            const { release: close, ...opened } = await openSandbox(job, commands, home);
            let homeAside = opened.homeAside;
            const release = () => {
              homeAside = close() ?? homeAside;
              if (throwAway) removeTree(join(job, HOME_LAYER));
            };
            const parts = { workspace, job, copies, installation, env, hiddenHome };
            const sandbox = {
              ...opened.sandbox,
              callersSocket,
              hidden: [...opened.sandbox.hidden, ...hidden],
            };
            const copy = await confineCopy({ ...parts, ...opened, sandbox });
            if ("complaint" in copy) {
              release();
              return wiring.mustConfine ? copy : null;
            }
            let stopped: Promise<void> | null = null;
            const stop = () => {
              // A sealed job may still be undone, and its descriptors belong to others at that point.
              stopped ??= copy.stop().then(release);
              return stopped;
            };
            return { ...copy, homeAside: () => homeAside, stop };
          }
        : null,
  };
}

/** A root of the transaction and the upper laid over it. */
export interface LaidRoot {
  readonly path: string;
  readonly upper: string;
  /** Mounted by real root, with `redirect_dir`: a folder is renamed in one step, and an attribute of it says where its contents are. */
  readonly redirects: boolean;
  /** Files of the workspace, relative to the root, that the job does not see. One that would move with its folder stays. */
  readonly hides: Set<string>;
}
