import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeTree } from "./remove-tree.ts";
import { trialFolder } from "./trial-folder.ts";
import { isRealRoot } from "./real-root.ts";
import { overlayOptions, SYSTEM_PATH } from "./sandbox-plan.ts";
import { findProgram } from "./staging.ts";

/** What this machine really lets a sandbox do; each part is tried, nothing is concluded. */
export interface SandboxTrial {
  /** The version, or null. */
  readonly bubblewrap: string | null;
  readonly setpriv: boolean;
  readonly namespaces: TrialResult;
  /** An overlay on the file system of the given folder. */
  readonly overlay: TrialResult;
}

export type TrialResult = { readonly ok: true } | { readonly ok: false; readonly complaint: string };

export function trySandbox(bubblewrap: string | null, storage: string): SandboxTrial {
  const setpriv = findProgram("setpriv", SYSTEM_PATH) !== null;
  if (bubblewrap === null) {
    const missing = { ok: false, complaint: "bwrap" } as const;
    return { bubblewrap: null, setpriv, namespaces: missing, overlay: missing };
  }
  const namespaces = tryBubblewrap(bubblewrap, ["--", "true"]);
  return {
    bubblewrap: spawnSync(bubblewrap, ["--version"], { encoding: "utf8" }).stdout?.trim() || bubblewrap,
    setpriv,
    namespaces,
    overlay: namespaces.ok ? tryOverlay(bubblewrap, storage) : namespaces,
  };
}

function tryOverlay(bubblewrap: string, storage: string): TrialResult {
  const folder = trialFolder(storage);
  if (typeof folder !== "string") return { ok: false, complaint: folder.complaint };
  try {
    for (const name of ["l", "u", "w", "m"]) mkdirSync(join(folder, name));
    const options = `lowerdir=/run/l,upperdir=/run/t/u,workdir=/run/t/w,${overlayOptions(isRealRoot())}`;
    const binds = ["--tmpfs", "/run", "--bind", folder, "/run/t", "--ro-bind", join(folder, "l"), "/run/l"];
    const mount = [
      "--",
      "/bin/sh",
      "-c",
      `mount -t overlay picoclaw -o ${options} /run/t/m && : > /run/t/m/x`,
    ];
    return tryBubblewrap(bubblewrap, [...binds, ...mount]);
  } finally {
    removeTree(folder);
  }
}

function tryBubblewrap(bubblewrap: string, rest: readonly string[]): TrialResult {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const user = uid === 0 ? [] : ["--unshare-user", "--uid", String(uid), "--gid", String(gid)];
  const base = [
    "--bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--unshare-pid",
    "--die-with-parent",
    "--cap-add",
    "ALL",
  ];
  const ran = spawnSync(bubblewrap, [...base, ...user, ...rest], {
    encoding: "utf8",
    env: { PATH: SYSTEM_PATH },
    timeout: 10_000,
  });
  if (ran.status === 0) return { ok: true };
  const [complaint = ""] = (ran.stderr ?? "").trim().split("\n");
  return { ok: false, complaint: complaint || String(ran.error?.message ?? ran.status) };
}
