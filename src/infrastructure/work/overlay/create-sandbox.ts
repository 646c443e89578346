import { join } from "node:path";
import type { Installation } from "../../runtime/installation.ts";
import { findInstallation } from "../../runtime/installation.ts";
import { HOME_LAYER } from "../transaction/job-folder.ts";
import { mountPoints } from "../transaction/mounts.ts";
import type { Sandbox } from "../transaction/transactions.ts";
import { openCheckHome } from "./check-home.ts";
import { confineCopy } from "./confined-copy.ts";
import { type HomeShape, shapeOf } from "./home-pieces.ts";
import type { JobLimits } from "./job-limits.ts";
import { type NetworkSettings, networkPlan, openNetwork } from "./job-network.ts";
import { limitedNetwork } from "./limited-network.ts";
import { beginOverlayTransaction } from "./overlay-transaction.ts";
import { openPrivateHome } from "./private-home.ts";
import { isRealRoot } from "./real-root.ts";
import { type SandboxPlan, sandboxEnvironment } from "./sandbox.ts";
import { forgetSuccess, recallSuccess, rememberFailure, rememberSuccess, type Staging } from "./staging.ts";
import { allowedSockets, type SurroundingsParts, surroundingsOf } from "./surroundings.ts";
import type { OpenedSandbox } from "./wakeable.ts";

export interface SandboxParts extends SurroundingsParts {
  /** Nothing may run unconfined. */
  readonly mustConfine: boolean;
  readonly network: NetworkSettings;
  readonly limits: JobLimits;
  readonly staging: Staging;
  /** Default: this program's own. */
  readonly installation?: Installation;
}

/** `job`: the one that jobs take turns with. `stays`: the same, for a job that stays open. `check`: one to throw away. */
type HomeUse = "job" | "stays" | { readonly check: readonly string[] };

interface HomeAt {
  readonly userHome: string;
  readonly shape: HomeShape;
  readonly secrets: readonly string[];
}

interface OpenedHome {
  readonly home: NonNullable<SandboxPlan["home"]>;
  readonly release: () => void;
}

/** The sandbox of one workspace: which home, which folders hidden, which parts of the program visible. */
export function createSandbox(wiring: SandboxParts): Sandbox {
  const { storage, staging } = wiring;
  const { workspace } = storage;
  const installation = wiring.installation ?? findInstallation();
  const bubblewrap = staging.bubblewrap ?? "bwrap";
  const shared = join(storage.folder, HOME_LAYER);
  const env = { PATH: wiring.env.PATH ?? "/usr/bin:/bin", HOME: wiring.env.HOME ?? "/" };

  async function openSandbox(job: string, wanted: boolean, home: HomeUse): Promise<OpenedSandbox> {
    const { userHome, secrets, ...around } = surroundingsOf(wiring, installation);
    const uid = process.getuid?.() ?? 0;
    const shape = userHome === null ? null : shapeOf(userHome, mountPoints(), secrets, uid);
    const opened =
      userHome === null || shape === null ? null : openHome(job, home, { userHome, shape, secrets });
    const network = await openNetwork(wiring.network, job, wanted);
    const sandbox: OpenedSandbox["sandbox"] = {
      ...around,
      bubblewrap,
      home: opened?.home ?? null,
      redirects: isRealRoot(),
      network: network.plan,
      limits: wiring.limits,
      confined: wiring.confined,
      uid,
      gid: process.getgid?.() ?? 0,
    };
    const release = () => {
      opened?.release();
      void network.release();
    };
    return { sandbox, release, ...(network.takeRefused && { takeRefused: network.takeRefused }) };
  }

  function openHome(job: string, use: HomeUse, at: HomeAt): OpenedHome {
    const { userHome: path, shape, secrets } = at;
    const own = join(job, HOME_LAYER);
    if (typeof use === "string") {
      const stays = use === "stays";
      const { layers, release } = openPrivateHome({ shared, own, folders: shape.folders, secrets, stays });
      return { home: { path, layers, pieces: shape.pieces }, release };
    }
    const parts = { home: path, into: own, above: [...use.check, shared], pieces: shape.pieces, secrets };
    return { home: { path, ...openCheckHome(parts) }, release: () => {} };
  }

  return {
    async overlay(folder, { network, resting }) {
      const home: HomeUse = resting ? "stays" : "job";
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
        environment: sandboxEnvironment({ confined: wiring.confined, sockets, network: plan }),
        limited: limitedNetwork(plan, undefined).network,
        openSandbox: () => openSandbox(folder.path, network, home),
        openThrowAway: (into, { network, over }) =>
          openSandbox(into, network, { check: over === "draft" ? [own] : [] }),
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
    confine: () =>
      (wiring.confined || wiring.network.mode !== "on") && staging.bubblewrap !== null
        ? async (job, copies, { network, throwAway = false }) => {
            const home: HomeUse = throwAway ? { check: [] } : "job";
            const { release, ...opened } = await openSandbox(job, network, home);
            const copy = await confineCopy({ workspace, job, copies, installation, env, ...opened });
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
