import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DoctorCheck, OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import type { TransactionKind, TransactionReason } from "../../domain/jobs/result.ts";
import { toErrorText } from "../../domain/platform/error-text.ts";
import type { SandboxPart } from "../../domain/platform/machine-trouble.ts";
import { confinementMessages } from "../../domain/texts/policy.ts";
import { HOME_LAYER, jobFolder } from "../jobs/job-folder.ts";
import { findProgram, SYSTEM_PATH } from "../platform/find-program.ts";
import { findReach, rootsFor } from "../platform/git-roots.ts";
import { fileSystemOf, mountPoints } from "../platform/mount-points.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { trialFolder } from "../platform/walk-folder.ts";
import { findHomeAside, repairHome } from "./home.ts";
import { overlayOptions } from "./sandbox-plan.ts";
import { isRealRoot } from "./staging.ts";

type TrialResult = { readonly ok: true } | { readonly ok: false; readonly complaint: string };

/** The abilities of a sandbox on this machine, each tried. `bubblewrap`: the version, or null. `overlay`: on the folder's file system. */
export function trySandbox(bubblewrap: string | null, storage: string) {
  const setpriv = findProgram("setpriv", SYSTEM_PATH) !== null;
  if (bubblewrap === null) {
    const missing: TrialResult = { ok: false, complaint: "bwrap" };
    return { bubblewrap: null, setpriv, namespaces: missing, overlay: missing };
  }
  const namespaces = tryBubblewrap(bubblewrap, ["--", "true"]);
  return {
    bubblewrap: spawnSync(bubblewrap, ["--version"], LIMITED).stdout?.trim() || bubblewrap,
    setpriv,
    namespaces,
    overlay: namespaces.ok ? tryOverlay(bubblewrap, storage) : namespaces,
  };
}

const LIMITED = { encoding: "utf8", env: { PATH: SYSTEM_PATH }, timeout: 10_000 } as const;

function tryOverlay(bubblewrap: string, storage: string): TrialResult {
  const folder = trialFolder(storage);
  if (typeof folder !== "string") return { ok: false, complaint: folder.complaint };
  try {
    for (const name of ["l", "u", "w", "m"]) mkdirSync(join(folder, name));
    const options = `lowerdir=/run/l,upperdir=/run/t/u,workdir=/run/t/w,${overlayOptions(isRealRoot())}`;
    const binds = ["--tmpfs", "/run", "--bind", folder, "/run/t", "--ro-bind", join(folder, "l"), "/run/l"];
    const mount = `mount -t overlay picoclaw -o ${options} /run/t/m && : > /run/t/m/x`;
    return tryBubblewrap(bubblewrap, [...binds, "--", "/bin/sh", "-c", mount]);
  } finally {
    removeTree(folder);
  }
}

function tryBubblewrap(bubblewrap: string, rest: readonly string[]): TrialResult {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const user = uid === 0 ? [] : ["--unshare-user", "--uid", String(uid), "--gid", String(gid)];
  const base = "--bind / / --proc /proc --unshare-pid --die-with-parent --cap-add ALL".split(" ");
  const ran = spawnSync(bubblewrap, [...base, ...user, ...rest], LIMITED);
  if (ran.status === 0) return { ok: true };
  const [complaint = ""] = (ran.stderr ?? "").trim().split("\n");
  return { ok: false, complaint: complaint || String(ran.error?.message ?? ran.status) };
}

/** A home of jobs that was put aside: named, or restored with `repair`. */
export function diagnoseHome(
  { messages, workspace: { storage } }: OpenedWorkspace,
  options: { readonly repair: boolean },
): DoctorCheck[] {
  const shared = join(storage, HOME_LAYER);
  const aside = findHomeAside(shared);
  if (aside === null) return [];
  const remedy = "picoclaw doctor --repair";
  if (!options.repair) return [{ name: "home", ok: false, text: messages.homeAside(aside), remedy }];
  return repairHome(shared)
    ? [{ name: "home", ok: true, text: messages.homeRepaired(shared) }]
    : [{ name: "home", ok: false, text: messages.homeBusy(aside), remedy }];
}

/** The parts of a sandbox and the promises about commands. Jobs run without one too: a missing part fails only where it is insisted on. */
export async function diagnoseSandbox(
  env: Readonly<Record<string, string | undefined>>,
  { messages, workspace, config }: OpenedWorkspace,
): Promise<DoctorCheck[]> {
  const { root, storage, staging } = workspace;
  const places = {
    name: "file-systems",
    ok: true,
    text: messages.fileSystems(fileSystemOf(root), storage, fileSystemOf(storage)),
  };
  const { network, confine } = config.worker;
  const optional = confine !== "on" && network.mode === "on";
  const said = confinementMessages(messages.locale);
  const networkCheck = (holds: boolean): DoctorCheck => ({
    name: "promise-network",
    ok: holds || network.mode === "on",
    text: said.networkPromise(network.mode, holds, network.allowed_domains),
    remedy: messages.remedy("install-bubblewrap"),
  });
  const { mode, allowed_domains: further } = config.worker.model_network;
  const modelNetworkCheck = (holds: boolean): DoctorCheck => ({
    name: "promise-model-network",
    ok: holds || mode !== "off",
    text: said.modelNetworkPromise(mode, holds, further),
    remedy: messages.remedy("install-bubblewrap"),
  });
  const limitsCheck = (holds: boolean): DoctorCheck => ({
    name: "promise-limits",
    ok: true,
    text: said.limitsPromise({ ...config.worker.limits }, holds),
  });
  if (process.platform !== "linux")
    return [
      { name: "transaction", ok: true, text: messages.transactionKind(staging.kind, staging.reason) },
      places,
      ...promises({
        messages,
        optional,
        kind: "copy",
        confined: false,
        limited: null,
        previewOffline: false,
        reachesLoopback: true,
      }),
      networkCheck(false),
      modelNetworkCheck(false),
      limitsCheck(false),
      ...(process.platform === "darwin" ? [{ name: "macos", ok: true, text: said.macos }] : []),
    ];
  const bubblewrap = findProgram("bwrap", env.PATH ?? "");
  const trial = trySandbox(bubblewrap, storage);
  const roots = rootsFor(root);
  const below = mountPoints().filter((point) => roots.some((root) => point.startsWith(`${root}/`)));
  // A part that failed once may work now: the next job tries again.
  if (trial.overlay.ok) rmSync(join(storage, "no-overlay.json"), { force: true });
  const job = await tryJob(workspace);
  // Files of another owner are named as the reason already; no other file system would help.
  const isForeign = job.reason === "foreign-group";
  const fellBack = trial.overlay.ok && staging.kind === "overlay" && job.kind !== "overlay" && !isForeign;
  const found = fellBack
    ? { ...trial, overlay: { ok: false, complaint: fileSystemOf(root) } as const }
    : trial;
  const checks = sandboxChecks({ messages, bubblewrap, trial: found, optional });
  const { foreign } = findReach(root);
  if (foreign !== null) checks.push({ name: "reach", ok: true, text: messages.foreignRepository(foreign) });
  if (below.length > 0) checks.push({ name: "mounts", ok: true, text: messages.mountsBelow(below) });
  const { kind, reason } = job;
  const holds = job.level === "sandbox";
  const confined = holds && confine !== "off";
  const limited = job.level === "limited";
  return [
    { name: "transaction", ok: job.complaint === null, text: messages.transactionKind(kind, reason) },
    ...(job.complaint === null
      ? []
      : [{ name: "job", ok: false, text: messages.trialJobFailed(job.complaint) }]),
    ...checks,
    places,
    ...promises({
      messages,
      optional,
      kind,
      confined,
      limited: limited ? said.limitedPromise : null,
      previewOffline: holds,
      reachesLoopback: !holds || network.mode === "on",
    }),
    networkCheck(holds),
    modelNetworkCheck(holds),
    limitsCheck(holds),
  ];
}

interface TriedJob {
  readonly kind: TransactionKind;
  readonly reason: TransactionReason;
  readonly level: "sandbox" | "limited" | "none";
  /** Why no job with a command can run here. */
  readonly complaint: string | null;
}

/** A job with a command, as any other in this workspace: begun, run, and discarded. Only what it got counts. */
async function tryJob({ begin, staging, storage }: OpenedWorkspace["workspace"]): Promise<TriedJob> {
  const { kind, reason } = staging;
  const jobId = `job_${Math.floor(Date.now() / 1000)}_${crypto.randomUUID().slice(0, 8)}`;
  const begun = await begin({ jobId, kind, startedBy: "user" });
  if (!begun.ok) return { kind, reason, level: "none", complaint: toErrorText(begun.refusal) };
  const { transaction, insteadOf } = begun;
  try {
    const ran = await transaction.processes?.runProcess({
      argv: ["/bin/sh", "-c", ":"],
      cwd: transaction.directory ?? "/",
      env: { PATH: SYSTEM_PATH, ...transaction.environment },
      jobMarker: jobId,
      timeoutMs: 10_000,
      outputLimitBytes: 1024,
    });
    return {
      kind: transaction.kind,
      reason: insteadOf?.reason ?? reason,
      level: transaction.isLimited ? "limited" : transaction.processes === undefined ? "none" : "sandbox",
      complaint: ran === undefined || ran.exitCode === 0 ? null : (ran.error?.message ?? ran.stderr),
    };
  } finally {
    await transaction.processes?.killJobProcesses(jobId);
    await transaction.discard();
    removeTree(jobFolder(storage, jobId).path);
  }
}

function sandboxChecks(found: {
  readonly messages: OpenedWorkspace["messages"];
  readonly bubblewrap: string | null;
  readonly trial: ReturnType<typeof trySandbox>;
  readonly optional: boolean;
}): DoctorCheck[] {
  const { messages, bubblewrap, trial, optional } = found;
  const complaint = (tried: typeof trial.overlay) => (tried.ok ? "" : ` (${tried.complaint})`);
  const check = (name: SandboxPart, ok: boolean, remedy: string, more = ""): DoctorCheck => {
    return { name, ok, optional, text: `${messages.sandboxPart(name, ok)}${more}`, remedy };
  };
  const program = check("bubblewrap", trial.bubblewrap !== null, messages.remedy("install-bubblewrap"));
  const checks = [
    { ...program, text: trial.bubblewrap ?? program.text },
    check("setpriv", trial.setpriv, messages.remedy("install-util-linux")),
  ];
  if (bubblewrap === null) return checks;
  const { namespaces, overlay } = trial;
  const allow = [messages.remedy("allow-user-namespaces"), ...profile(bubblewrap)].join("\n      ");
  checks.push(check("user-namespaces", namespaces.ok, allow, complaint(namespaces)));
  if (namespaces.ok)
    checks.push(check("overlay", overlay.ok, messages.remedy("other-file-system"), complaint(overlay)));
  return checks;
}

function promises(found: {
  readonly messages: OpenedWorkspace["messages"];
  readonly optional: boolean;
  readonly kind: string;
  readonly confined: boolean;
  /** The restriction where commands are neither confined nor free. */
  readonly limited: string | null;
  readonly previewOffline: boolean;
  readonly reachesLoopback: boolean;
}): DoctorCheck[] {
  const { messages, optional, kind, confined, limited, previewOffline, reachesLoopback } = found;
  const check = (promise: Parameters<typeof messages.promise>[0], kept: boolean) => ({
    name: `promise-${promise}`,
    ok: kept,
    text: messages.promise(promise, kept),
  });
  return [
    check("undo", kind !== "none"),
    { ...check("confined", confined), optional, ...(limited !== null && { text: limited }) },
    { ...check("preview-offline", previewOffline), optional },
    { ...check("loopback-reachable", reachesLoopback), ok: true },
  ];
}

const RESTRICTED = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/** Ubuntu lets only programs with a profile of their own make user namespaces. */
function profile(bubblewrap: string | null): string[] {
  if (!existsSync(RESTRICTED))
    return ["sudo sysctl user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1"];
  if (readFileSync(RESTRICTED, "utf8").trim() === "0") return [];
  return [
    "sudo tee /etc/apparmor.d/bwrap <<'END'",
    "abi <abi/4.0>,",
    "include <tunables/global>",
    `profile bwrap ${bubblewrap ?? "/usr/bin/bwrap"} flags=(unconfined) {`,
    "  userns,",
    "  include if exists <local/bwrap>",
    "}",
    "END",
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap",
  ];
}
