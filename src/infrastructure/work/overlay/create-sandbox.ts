import { join } from "node:path";
import type { Installation } from "../../runtime/installation.ts";
import { findInstallation } from "../../runtime/installation.ts";
import { mountPoints } from "../transaction/storage.ts";
import type { Sandbox } from "../transaction/transactions.ts";
import { confineCopy } from "./confined-copy.ts";
import { shapeOf } from "./home-pieces.ts";
import type { JobLimits } from "./job-limits.ts";
import { type NetworkSettings, openNetwork } from "./job-network.ts";
import { beginOverlayTransaction } from "./overlay-transaction.ts";
import { openPrivateHome } from "./private-home.ts";
import { isRealRoot } from "./real-root.ts";
import type { SandboxPlan } from "./sandbox.ts";
import { rememberFailure, type Staging } from "./staging.ts";
import { type SurroundingsParts, surroundingsOf } from "./surroundings.ts";

export interface SandboxParts extends SurroundingsParts {
  /** Nothing may run unconfined. */
  readonly mustConfine: boolean;
  readonly network: NetworkSettings;
  readonly limits: JobLimits;
  readonly staging: Staging;
  /** Default: this program's own. */
  readonly installation?: Installation;
}

/** The sandbox of one workspace: which home, which folders hidden, which parts of the program visible. */
export function createSandbox(wiring: SandboxParts): Sandbox {
  const { storage, staging } = wiring;
  const { workspace } = storage;
  const installation = wiring.installation ?? findInstallation();
  const bubblewrap = staging.bubblewrap ?? "bwrap";
  const env = { PATH: wiring.env.PATH ?? "/usr/bin:/bin", HOME: wiring.env.HOME ?? "/" };

  async function openSandbox(job: string, wanted: boolean) {
    const { userHome, secrets, ...around } = surroundingsOf(wiring, installation);
    const uid = process.getuid?.() ?? 0;
    const shape = userHome === null ? null : shapeOf(userHome, mountPoints(), secrets, uid);
    const own = { shared: join(storage.folder, "home"), own: join(job, "home") };
    const opened = shape === null ? null : openPrivateHome({ ...own, folders: shape.folders, secrets });
    const network = await openNetwork(wiring.network, job, wanted);
    const sandbox: Omit<SandboxPlan, "roots" | "job" | "directory"> = {
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

  return {
    async overlay(folder, { network }) {
      const { release, ...opened } = await openSandbox(folder.path, network);
      const parts = { workspace, folder, installation, env, ...opened, onEnd: release };
      const begun = await beginOverlayTransaction(parts);
      if (!begun.ok) release();
      return begun;
    },
    fallsBack(complaint) {
      if (staging.reason === "configured" || staging.bubblewrap === null) return null;
      return rememberFailure(storage.folder, staging.bubblewrap, complaint);
    },
    confine: () =>
      (wiring.confined || wiring.network.mode !== "on") && staging.bubblewrap !== null
        ? async (job, copies, { network }) => {
            const { release, ...opened } = await openSandbox(job, network);
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
