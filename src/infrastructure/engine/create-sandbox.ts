import { join } from "node:path";
import type { Installation } from "../platform/runtime-installation.ts";
import { findInstallation } from "../platform/runtime-installation.ts";
import { removeTree } from "./remove-tree.ts";
import { createLimitCopy, limitedEntry } from "./limited-copy.ts";
import { rootsFor } from "./git-roots.ts";
import { HOME_LAYER } from "./job-folder.ts";
import { mountPoints } from "./mounts.ts";
import type { Sandbox } from "./folder-workspace.ts";
import { adoptHome } from "./adopt-home.ts";
import { confineCopy } from "./confined-copy.ts";
import { createForeignFiles } from "./foreign-files.ts";
import { findHiddenHomePaths } from "./hidden-home.ts";
import type { JobLimits } from "./job-limits.ts";
import { type NetworkSettings, networkPlan, openNetwork } from "./job-network.ts";
import { limitedNetwork } from "./limited-network.ts";
import { beginOverlayTransaction } from "./overlay-transaction.ts";
import { openPrivateHome, openStackedHome } from "./home.ts";
import { isRealRoot } from "./real-root.ts";
import { sandboxEnvironment } from "./sandbox-plan.ts";
import type { ShownHome } from "./shown-home.ts";
import { forgetSuccess, recallSuccess, rememberFailure, rememberSuccess, type Staging } from "./staging.ts";
import { allowedSockets, findSurroundings, type SurroundingsDeps } from "./surroundings.ts";
import type { OpenedSandbox } from "./wakeable.ts";

export interface SandboxDeps extends SurroundingsDeps {
  /** Nothing may run unconfined. */
  readonly mustConfine: boolean;
  readonly network: NetworkSettings;
  readonly limits: JobLimits;
  readonly staging: Staging;
  /** Default: this program's own. */
  readonly installation?: Installation;
}

/**
 * `shared`: the one that jobs take turns with. `above`: a layer of its own over these, and over the shared one, which
 * goes with its job.
 */
type HomeUse = "shared" | { readonly above: readonly string[] };

/** The sandbox of one workspace: which home, which folders hidden, which parts of the program visible. */
export function createSandbox(wiring: SandboxDeps): Sandbox {
  const { storage, staging } = wiring;
  const { workspace } = storage;
  const installation = wiring.installation ?? findInstallation();
  const bubblewrap = staging.bubblewrap ?? "bwrap";
  const shared = join(storage.folder, HOME_LAYER);
  const env = { PATH: wiring.env.PATH ?? "/usr/bin:/bin", HOME: wiring.env.HOME ?? "/" };

  async function openSandbox(job: string, wanted: boolean, home: HomeUse): Promise<OpenedSandbox> {
    const { shown, ...around } = findSurroundings(wiring, installation);
    const opened = shown === null ? null : openHome(job, home, shown, around.readable);
    const network = await openNetwork(wiring.network, job, wanted);
    const sandbox: OpenedSandbox["sandbox"] = {
      ...around,
      bubblewrap,
      home: opened?.home ?? null,
      redirects: isRealRoot(),
      network: network.plan,
      limits: wiring.limits,
      confined: wiring.confined,
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
    };
    const release = () => {
      opened?.release();
      void network.release();
    };
    return { sandbox, release, ...(network.takeRefused && { takeRefused: network.takeRefused }) };
  }

  function openHome(job: string, use: HomeUse, shown: ShownHome, readable: readonly string[]) {
    const own = join(job, HOME_LAYER);
    const places = [...readable, ...rootsFor(workspace)];
    const parts = { shown, own, mounts: mountPoints(), places };
    if (use === "shared") return openPrivateHome({ ...parts, shared });
    return openStackedHome({ ...parts, below: [...use.above, shared] });
  }

  /** Looked up when a command failed, and not before. */
  function hiddenHome(words: string): readonly string[] {
    const { shown, readable } = findSurroundings(wiring, installation);
    if (shown === null) return [];
    return findHiddenHomePaths(words, { shown, seen: [...readable, ...rootsFor(workspace)], path: env.PATH });
  }

  return {
    async overlay(folder, { network, resting, preview, despiteForeign = false }) {
      // Real root knows every owner; who asks for an overlay gets one.
      const isOwnChoice = staging.reason === "configured" || despiteForeign || isRealRoot();
      const foreign = isOwnChoice
        ? null
        : createForeignFiles({ roots: rootsFor(workspace), memory: storage.folder });
      const found = foreign?.find() ?? null;
      if (found !== null)
        return { ok: false, complaint: `another owner or group: ${found}`, reason: "foreign-group" };
      const home: HomeUse = resting || preview ? { above: [] } : "shared";
      const own = join(folder.path, HOME_LAYER);
      const plan = networkPlan(wiring.network, network);
      const sockets = allowedSockets(wiring);
      // One that rests starts later, when no copy can serve any more: so the first of all starts at once.
      const isProven = resting && recallSuccess(storage.folder, bubblewrap);
      const begun = await beginOverlayTransaction({
        workspace,
        folder,
        installation,
        env,
        resting: isProven,
        onComplaint: () => forgetSuccess(storage.folder),
        redirects: isRealRoot(),
        ...(foreign !== null && { metForeign: foreign.met }),
        environment: sandboxEnvironment({ confined: wiring.confined, sockets, network: plan }),
        limited: limitedNetwork(plan, undefined).network,
        openSandbox: () => openSandbox(folder.path, network, home),
        openThrowAway: (into, { network, over }) =>
          openSandbox(into, network, { above: over === "draft" ? [own] : [] }),
        onCommit: () => (resting ? adoptHome(own, shared) : undefined),
        hiddenHome,
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
    limit: () =>
      wiring.confined
        ? createLimitCopy(() => {
            const { shown, readable, files, closed } = findSurroundings(wiring, installation);
            const entry = limitedEntry(installation);
            return { entry, readable: [...readable, ...files], shown, closed };
          })
        : null,
    confine: () =>
      (wiring.confined || wiring.network.mode !== "on") && staging.bubblewrap !== null
        ? async (job, copies, { network, throwAway = false }) => {
            const home: HomeUse = throwAway ? { above: [] } : "shared";
            const { release: close, ...opened } = await openSandbox(job, network, home);
            const release = () => {
              close();
              if (throwAway) removeTree(join(job, HOME_LAYER));
            };
            const parts = { workspace, job, copies, installation, env, hiddenHome };
            const copy = await confineCopy({ ...parts, ...opened });
            if ("complaint" in copy) {
              release();
              return wiring.mustConfine ? copy : null;
            }
            let stopped: Promise<void> | null = null;
            const stop = () => {
              // A job that is sealed may still be taken back, and its descriptors are others' by then.
              stopped ??= copy.stop().then(release);
              return stopped;
            };
            return { ...copy, stop };
          }
        : null,
  };
}
