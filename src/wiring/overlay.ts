import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { beginOverlayTransaction, type OverlayBegun } from "../infrastructure/overlay/overlay-transaction.ts";
import { openPrivateHome } from "../infrastructure/overlay/private-home.ts";
import { isInside } from "../infrastructure/transaction/git-roots.ts";
import type { JobFolder } from "../infrastructure/transaction/job-folder.ts";
import type { Storage } from "../infrastructure/transaction/storage.ts";

export interface OverlayWiring {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly storage: Storage;
  /** PicoClaw's home. */
  readonly home: string;
  readonly confined: boolean;
  readonly allowSshAgent: boolean;
}

/** Opens overlay views on one workspace: which home, which folders hidden, which parts of the program visible. */
export function createOverlay({
  env,
  storage,
  home,
  confined,
  allowSshAgent,
}: OverlayWiring): (folder: JobFolder, options: { network: boolean }) => Promise<OverlayBegun> {
  const { workspace } = storage;
  const installation = {
    folder: realpathSync(join(import.meta.dir, "..", "..")),
    runtime: realpathSync(process.execPath),
  };
  return async (folder, { network }) => {
    const userHome = realHome(env);
    const ownsHome = confined && userHome !== null && !isInside(workspace, userHome);
    const secrets = userHome !== null && isInside(userHome, home) ? [relative(userHome, home)] : [];
    const privateHome = ownsHome
      ? await openPrivateHome({
          shared: join(storage.folder, "home"),
          own: join(folder.path, "home"),
          home: userHome,
          secrets,
        })
      : null;
    const agent = allowSshAgent && env.SSH_AUTH_SOCK ? [env.SSH_AUTH_SOCK] : [];
    const begun = await beginOverlayTransaction({
      workspace,
      folder,
      installation,
      env: { PATH: env.PATH ?? "/usr/bin:/bin", HOME: env.HOME ?? "/" },
      sandbox: {
        home:
          privateHome === null || userHome === null ? null : { path: userHome, folder: privateHome.folder },
        hidden: confined ? [home, storage.folder] : [],
        readable: confined ? [installation.folder, dirname(installation.runtime)] : [],
        sockets: agent,
        network,
        confined,
        uid: process.getuid?.() ?? 0,
        gid: process.getgid?.() ?? 0,
      },
      onEnd: () => privateHome?.release(),
    });
    if (!begun.ok) privateHome?.release();
    return begun;
  };
}

function realHome(env: Readonly<Record<string, string | undefined>>): string | null {
  try {
    const home = realpathSync(env.HOME || homedir());
    return home === "/" ? null : home;
  } catch {
    return null;
  }
}
