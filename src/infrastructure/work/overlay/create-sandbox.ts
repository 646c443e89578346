import { join } from "node:path";
import type { Installation } from "../../runtime/installation.ts";
import { findInstallation } from "../../runtime/installation.ts";
import { isInside } from "../transaction/git-roots.ts";
import { HOME_LAYER } from "../transaction/job-folder.ts";
import { mountPoints } from "../transaction/mounts.ts";
import type { Sandbox } from "../transaction/transactions.ts";
import { adoptHome } from "./adopt-home.ts";
import { confineCopy } from "./confined-copy.ts";
import { shapeOf } from "./home-pieces.ts";
import type { JobLimits } from "./job-limits.ts";
import { type NetworkSettings, networkPlan, openNetwork } from "./job-network.ts";
import { limitedNetwork } from "./limited-network.ts";
import { beginOverlayTransaction } from "./overlay-transaction.ts";
import { openPrivateHome, openStackedHome } from "./private-home.ts";
import { isRealRoot } from "./real-root.ts";
import { sandboxEnvironment } from "./sandbox.ts";
import { rememberFailure, type Staging } from "./staging.ts";
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

/**
 * `shared`: the one that jobs take turns with. `above`: a layer of its own over these, and over the shared one, which
 * is thrown away or stays with its job.
 */
type HomeUse = "shared" | { readonly above: readonly string[]; readonly thrownAway: boolean };

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
    const opened = shape === null ? null : openHome(job, home, shape.folders, secrets);
    const network = await openNetwork(wiring.network, job, wanted);
    const sandbox: OpenedSandbox["sandbox"] = {
      ...around,
      bubblewrap,
      home:
        userHome === null || shape === null || opened === null
          ? null
          : { path: userHome, layers: opened.layers, pieces: shape.pieces },
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

  function openHome(job: string, use: HomeUse, folders: readonly string[], secrets: readonly string[]) {
    const own = join(job, HOME_LAYER);
    // The kernel refuses layers of which one lies inside another, as PicoClaw's home does in the user's.
    const overlaps = folders.some((folder) => isInside(folder, shared));
    if (use === "shared" || (overlaps && !use.thrownAway))
      return openPrivateHome({ shared, own, folders, secrets });
    const below = overlaps ? [] : [...use.above, shared];
    return openStackedHome({ own, below, folders, secrets });
  }

  return {
    async overlay(folder, { network, resting }) {
      const home: HomeUse = resting ? { above: [], thrownAway: false } : "shared";
      const own = join(folder.path, HOME_LAYER);
      const plan = networkPlan(wiring.network, network);
      const sockets = allowedSockets(wiring);
      return beginOverlayTransaction({
        workspace,
        folder,
        installation,
        env,
        resting,
        redirects: isRealRoot(),
        environment: sandboxEnvironment({ confined: wiring.confined, sockets, network: plan }),
        limited: limitedNetwork(plan, undefined).network,
        openSandbox: () => openSandbox(folder.path, network, home),
        openThrowAway: (into, { network, over }) =>
          openSandbox(into, network, { above: over === "draft" ? [own] : [], thrownAway: true }),
        onSealed: () => (resting ? adoptHome(own, shared) : undefined),
      });
    },
    fallsBack(complaint) {
      if (staging.reason === "configured" || staging.bubblewrap === null) return null;
      return rememberFailure(storage.folder, staging.bubblewrap, complaint);
    },
    confine: () =>
      (wiring.confined || wiring.network.mode !== "on") && staging.bubblewrap !== null
        ? async (job, copies, { network, throwAway = false }) => {
            const home: HomeUse = throwAway ? { above: [], thrownAway: true } : "shared";
            const { release, ...opened } = await openSandbox(job, network, home);
            const copy = await confineCopy({ workspace, job, copies, installation, env, ...opened });
            if ("complaint" in copy) {
              release();
              return wiring.mustConfine ? copy : null;
            }
            return { ...copy, stop: () => copy.stop().then(release) };
          }
        : null,
  };
}
