import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { SILENT_SANDBOX, type Staging } from "../../application/ports/sandbox.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { foldsCase } from "../platform/entry-identity.ts";
import { findProgram } from "../platform/find-program.ts";
import { rootsFor } from "../platform/git-roots.ts";
import { mountBelow } from "../platform/mount-points.ts";

export interface StagingDeps {
  readonly setting: "auto" | "overlay" | "copy" | "none";
  readonly workspace: string;
  /** Where a failed attempt is remembered, so that it is not made again with every job. */
  readonly memory: string;
  readonly path: string;
}

export function chooseStaging({ setting, workspace, memory, path }: StagingDeps): Staging {
  const bubblewrap = process.platform === "linux" ? findProgram("bwrap", path) : null;
  if (setting === "none" || setting === "copy" || setting === "overlay")
    return { kind: setting, reason: "configured", bubblewrap };
  if (process.platform !== "linux") return { kind: "copy", reason: "not-linux", bubblewrap };
  if (bubblewrap === null) return { kind: "copy", reason: "no-bubblewrap", bubblewrap };
  if (mountBelow(rootsFor(workspace)) !== null)
    return { kind: "copy", reason: "mount-below-workspace", bubblewrap };
  // An overlay tells names apart that are one entry below it.
  const failed = foldsCase(workspace) ? "folds-case" : recallFailure(memory, bubblewrap);
  return failed === null
    ? { kind: "overlay", reason: "overlay-available", bubblewrap }
    : { kind: "copy", reason: failed, bubblewrap };
}

function reasonFor(complaint: string): "no-user-namespaces" | "overlay-failed" {
  return /namespace|uid map|setuid|Operation not permitted|Permission denied.*(clone|unshare)/i.test(
    complaint,
  ) && !/mount:/.test(complaint)
    ? "no-user-namespaces"
    : "overlay-failed";
}

interface Failure {
  readonly machine: string;
  readonly reason: "no-user-namespaces" | "overlay-failed";
  readonly complaint: string;
}

/** The system has no room for another process, or no memory, at this moment; the executor's runtime crashes then. */
const SHORT_OF_SOMETHING =
  /abort\(\) called|has crashed|Resource temporarily unavailable|EAGAIN|Cannot allocate memory|ENOMEM|Too many open files|EMFILE|ENFILE/i;

/** A killed sandbox, or a machine that is short of something, shows nothing about the next one, and is not remembered. */
export function rememberFailure(memory: string, bubblewrap: string, complaint: string): Failure["reason"] {
  const reason = reasonFor(complaint);
  if (SHORT_OF_SOMETHING.test(complaint)) return reason;
  const failure: Failure = { machine: machineOf(bubblewrap), reason, complaint };
  if (complaint !== SILENT_SANDBOX) writeFileSync(join(memory, "no-overlay.json"), JSON.stringify(failure));
  return reason;
}

const OVERLAY_WORKS_FILE = "overlay-works";

/** Whether a sandbox with an overlay was seen to start here, on a machine as it is now. */
export function recallSuccess(memory: string, bubblewrap: string): boolean {
  return attemptOr(
    false,
    () => readFileSync(join(memory, OVERLAY_WORKS_FILE), "utf8") === machineOf(bubblewrap),
  );
}

export function rememberSuccess(memory: string, bubblewrap: string): void {
  writeFileSync(join(memory, OVERLAY_WORKS_FILE), machineOf(bubblewrap));
}

export function forgetSuccess(memory: string): void {
  rmSync(join(memory, OVERLAY_WORKS_FILE), { force: true });
}

/** A failure counts until the kernel, its settings or bubblewrap change. */
function recallFailure(memory: string, bubblewrap: string): Failure["reason"] | null {
  return attemptOr(null, () => {
    const { machine, reason } = JSON.parse(readFileSync(join(memory, "no-overlay.json"), "utf8")) as Failure;
    return machine === machineOf(bubblewrap) ? reason : null;
  });
}

function machineOf(bubblewrap: string): string {
  const settings = [
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/user/max_user_namespaces",
  ];
  const values = settings.map((file) => (existsSync(file) ? readFileSync(file, "utf8").trim() : "-"));
  return [release(), statSync(bubblewrap).mtimeMs, process.getuid?.(), ...values].join(" ");
}

/** Root of the machine itself, not of a user namespace: only that one may set the attributes of a trusted overlay. */
export function isRealRoot(): boolean {
  if (process.getuid?.() !== 0) return false;
  return attemptOr(false, () =>
    /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync("/proc/self/uid_map", "utf8")),
  );
}
