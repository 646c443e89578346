import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import type { ProcessConfinement } from "../../application/ports/engine-processes.ts";
import type { ProcessRunner, View } from "../../application/ports/jobs-transaction.ts";
import type { Sandbox } from "./folder-workspace.ts";
import { isInside } from "./git-roots.ts";
import { jobFolder, type Op, opSlotPath, readOwnPlan, readState } from "./job-folder.ts";
import { createProcessRunner } from "./process-runner.ts";
import type { ConfinedCopy } from "./start-executor.ts";

/** Where a background process runs, as far from the rest of the machine as a job is. */
export interface ProcessPlace {
  readonly processes: ProcessRunner;
  readonly environment: Readonly<Record<string, string>>;
  readonly confinement: ProcessConfinement;
  /** Why it ended by itself: the disk was full, say. */
  readonly whyEnded: () => Error | null;
  /** Ends everything in it. */
  stop(): Promise<void>;
}

/**
 * Opens the live folder for a process. In a sandbox git's own files can be read and not written: a hook or a setting that a
 * server writes would run outside with the user's next git command.
 */
export async function openLivePlace(
  sandbox: Sandbox,
  { root, run }: { readonly root: string; readonly run: string },
): Promise<ProcessPlace | { readonly complaint: string }> {
  const git = join(root, ".git");
  const stats = lstatSync(git, { throwIfNoEntry: false });
  const hasGit = stats?.isDirectory() === true || stats?.isFile() === true;
  const copies = [
    { original: root, copy: root },
    ...(hasGit ? [{ original: git, copy: git, readOnly: true }] : []),
  ];
  const confined = await sandbox.confine()?.(run, copies, { network: true, throwAway: true });
  if (confined !== undefined && confined !== null && "complaint" in confined) return confined;
  if (confined !== undefined && confined !== null) return toPlace(confined);
  const limited = (await sandbox.limit()?.(run, [{ copy: root }], { network: true })) ?? null;
  if (limited !== null)
    return {
      processes: limited.processes,
      environment: limited.environment,
      confinement: "limited",
      whyEnded: () => null,
      stop: async () => limited.stop(),
    };
  return {
    processes: createProcessRunner(),
    environment: {},
    confinement: "none",
    whyEnded: () => null,
    stop: async () => {},
  };
}

function toPlace({ processes, environment, confined, whyEnded, stop }: ConfinedCopy): ProcessPlace {
  return { processes, environment, confinement: confined ? "confined" : "none", whyEnded, stop };
}

/** Whether a preview still waits. */
export function isPreviewWaiting(storage: string, jobId: string): boolean {
  return readState(jobFolder(storage, jobId))?.state === "staged";
}

/**
 * Opens the folder as it would be with a preview applied. Everything that the process writes stays aside and goes with it, so
 * that git's files need no guard. Only where there are overlays.
 */
export async function openPreviewPlace(
  sandbox: Sandbox,
  preview: { readonly root: string; readonly run: string; readonly storage: string; readonly jobId: string },
): Promise<ProcessPlace | { readonly complaint: string }> {
  const { root, run, storage, jobId } = preview;
  const plan = readOwnPlan(jobFolder(storage, jobId), root);
  if (plan.status !== "own" || !isPreviewWaiting(storage, jobId))
    return { complaint: `no preview: ${jobId}` };
  for (const name of ["u0", "w0"]) mkdirSync(join(run, name), { mode: 0o700 });
  const laid = [{ original: root, copy: null }];
  const confined = await sandbox.confine()?.(run, laid, { network: true, throwAway: true });
  if (confined === undefined || confined === null)
    return { complaint: "a process over a preview needs bubblewrap and overlays" };
  if ("complaint" in confined) return confined;
  try {
    for (const op of plan.plan.ops) {
      const absolute = join(plan.plan.roots[op.root] as string, op.path);
      if (isInside(root, absolute) && op.inPlace !== true)
        layChange(
          confined.view,
          relative(root, absolute),
          op,
          opSlotPath(jobFolder(storage, jobId), op.n, "b"),
        );
    }
  } catch (error) {
    await confined.stop();
    return { complaint: (error as Error).message };
  }
  return toPlace(confined);
}

/** One change of a preview in the view; what stands there goes first. */
function layChange(view: View, path: string, { b }: Pick<Op, "b">, slot: string): void {
  if (b === null || view.look(path).kind !== b.kind) removeWhole(view, path);
  if (b !== null) layEntry(view, path, slot);
}

function removeWhole(view: View, path: string): void {
  const { kind } = view.look(path);
  if (kind === "missing") return;
  if (kind === "directory") for (const name of view.list(path)) removeWhole(view, `${path}/${name}`);
  view.remove(path);
}

function layEntry(view: View, path: string, from: string): void {
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) {
    removeWhole(view, path);
    view.makeSymlink(path, readlinkSync(from));
  } else if (stats.isDirectory()) {
    view.makeDirectory(path);
    for (const name of readdirSync(from)) layEntry(view, `${path}/${name}`, join(from, name));
  } else if (stats.isFile()) view.write(path, readFileSync(from), stats.mode & 0o777);
}
