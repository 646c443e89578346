import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { confineCopy } from "../infrastructure/overlay/confined-copy.ts";
import { beginOverlayTransaction } from "../infrastructure/overlay/overlay-transaction.ts";
import { openPrivateHome } from "../infrastructure/overlay/private-home.ts";
import type { SandboxPlan } from "../infrastructure/overlay/sandbox.ts";
import { rememberFailure, type Staging } from "../infrastructure/overlay/staging.ts";
import type { Installation } from "../infrastructure/overlay/start-executor.ts";
import { isInside } from "../infrastructure/transaction/git-roots.ts";
import type { Storage } from "../infrastructure/transaction/storage.ts";
import type { Sandbox } from "../infrastructure/transaction/transactions.ts";

export interface SandboxWiring {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly storage: Storage;
  /** PicoClaw's home. */
  readonly home: string;
  readonly confined: boolean;
  /** Nothing may run unconfined. */
  readonly mustConfine: boolean;
  readonly allowSshAgent: boolean;
  readonly staging: Staging;
}

/** The sandbox of one workspace: which home, which folders hidden, which parts of the program visible. */
export function createSandbox(wiring: SandboxWiring): Sandbox {
  const { storage, staging } = wiring;
  const { workspace } = storage;
  const installation = {
    folder: realpathSync(join(import.meta.dir, "..", "..")),
    runtime: realpathSync(process.execPath),
  };
  const env = { PATH: wiring.env.PATH ?? "/usr/bin:/bin", HOME: wiring.env.HOME ?? "/" };
  return {
    async overlay(folder, { network }) {
      const { sandbox, release } = await surroundings(wiring, installation, folder.path, network);
      const begun = await beginOverlayTransaction({
        workspace,
        folder,
        installation,
        env,
        sandbox,
        onEnd: release,
      });
      if (!begun.ok) release();
      return begun;
    },
    fallsBack(complaint) {
      if (staging.reason === "configured" || staging.bubblewrap === null) return false;
      rememberFailure(storage.folder, staging.bubblewrap, complaint);
      return true;
    },
    confine: () =>
      wiring.confined && staging.bubblewrap !== null
        ? async (job, copies, { network }) => {
            const { sandbox, release } = await surroundings(wiring, installation, job, network);
            const copy = await confineCopy({ workspace, job, copies, installation, env, sandbox });
            if ("complaint" in copy) {
              release();
              return wiring.mustConfine ? copy : null;
            }
            return { ...copy, stop: () => copy.stop().then(release) };
          }
        : null,
  };
}

/** What a sandbox of this workspace has around its roots. */
async function surroundings(
  { env, storage, home, confined, allowSshAgent }: SandboxWiring,
  installation: Installation,
  job: string,
  network: boolean,
) {
  const userHome = realHome(env);
  const ownsHome = confined && userHome !== null && !isInside(storage.workspace, userHome);
  const secrets = userHome !== null && isInside(userHome, home) ? [relative(userHome, home)] : [];
  const privateHome = ownsHome
    ? await openPrivateHome({
        shared: join(storage.folder, "home"),
        own: join(job, "home"),
        home: userHome,
        secrets,
      })
    : null;
  const agent = allowSshAgent && env.SSH_AUTH_SOCK ? [env.SSH_AUTH_SOCK] : [];
  const sandbox: Omit<SandboxPlan, "roots" | "job" | "directory"> = {
    home: privateHome === null || userHome === null ? null : { path: userHome, folder: privateHome.folder },
    hidden: confined ? [home, storage.folder] : [],
    readable: confined ? [installation.folder, dirname(installation.runtime)] : [],
    sockets: agent,
    network,
    confined,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
  };
  return { sandbox, release: () => privateHome?.release() };
}

function realHome(env: Readonly<Record<string, string | undefined>>): string | null {
  try {
    const home = realpathSync(env.HOME || homedir());
    return home === "/" ? null : home;
  } catch {
    return null;
  }
}
