import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Begun, RefusedHost, Sealed, Transaction } from "../../../application/ports/transaction.ts";
import type { Installation } from "../../runtime/installation.ts";
import { removeTree } from "../folder/remove-tree.ts";
import { watchView } from "../folder/watch-view.ts";
import { takeStamp } from "../transaction/fs-stamp.ts";
import { repositoryOf, rootsFor } from "../transaction/git-roots.ts";
import { type JobFolder, type Op, removeSlots, writePlan } from "../transaction/job-folder.ts";
import { judgeOps } from "../transaction/judge-ops.ts";
import { makeDurable } from "../transaction/make-durable.ts";
import { changesOf } from "../transaction/plan-changes.ts";
import { bytesOrNull, currentBytes, currentPlace, lookThrough } from "./current-place.ts";
import { createFirstSight } from "./first-sight.ts";
import { type LimitedNetwork, limitedNetwork } from "./limited-network.ts";
import { createChangeWatch } from "./overlay-changes.ts";
import { sealUpper } from "./overlay-seal.ts";
import { createRemoteView } from "./remote-view.ts";
import { restoreThrough, rewriteThrough } from "./restore.ts";
import { type SandboxPlan, sandboxEnvironment } from "./sandbox.ts";
import { mountBelow } from "./staging.ts";
import { type Executor, startExecutor } from "./start-executor.ts";
import type { LaidRoot } from "./upper.ts";

export interface OverlayParts {
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly installation: Installation;
  readonly env: Readonly<Record<string, string>>;
  /** Called once, when the sandbox is gone. */
  readonly onEnd: () => void;
  /** What a proxy outside refused; absent where there is none. */
  readonly takeRefused?: () => readonly RefusedHost[];
  /** Everything of the plan but the roots and the job's folder. */
  readonly sandbox: Omit<SandboxPlan, "roots" | "job" | "directory">;
}

export type OverlayBegun = Begun | { readonly ok: false; readonly complaint: string };

/**
 * Stages a job in an overlay: the workspace (and its repository) with an upper of the job's own laid over it, seen
 * only by the executor in its sandbox. The upper is the change set; cost follows the change.
 */
export async function beginOverlayTransaction(parts: OverlayParts): Promise<OverlayBegun> {
  const { workspace, folder } = parts;
  const mounted = mountBelow(rootsFor(workspace));
  if (mounted !== null)
    return { ok: false, complaint: `something is mounted below the workspace: ${mounted}` };
  const stamp = takeStamp(join(folder.path, "stamp"));
  const roots = rootsFor(workspace).map((path, i): LaidRoot => {
    const upper = join(folder.path, `u${i}`);
    mkdirSync(upper);
    mkdirSync(join(folder.path, `w${i}`));
    chmodSync(upper, lstatSync(path).mode & 0o7777);
    return { path, upper, redirects: parts.sandbox.redirects };
  });
  const plan: SandboxPlan = {
    ...parts.sandbox,
    job: folder.path,
    directory: workspace,
    roots: roots.map(({ path }) => ({ path, source: { kind: "overlay" } })),
  };
  const started = await startExecutor(plan, parts.installation, parts.env);
  if (!started.ok) {
    clearLayers(folder, roots.length);
    return { ok: false, complaint: started.complaint };
  }
  return {
    ok: true,
    transaction: open({
      workspace,
      folder,
      roots,
      stamp,
      executor: started.executor,
      onEnd: parts.onEnd,
      environment: sandboxEnvironment(parts.sandbox),
      limited: limitedNetwork(parts.sandbox.network, parts.takeRefused),
    }),
  };
}

interface OpenOverlay {
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly roots: readonly LaidRoot[];
  readonly stamp: bigint;
  readonly executor: Executor;
  readonly onEnd: () => void;
  readonly environment: Readonly<Record<string, string>>;
  readonly limited: LimitedNetwork;
}

function open(state: OpenOverlay): Transaction {
  const { workspace, folder, roots, executor } = state;
  let left: Promise<void> | null = null;
  const leave = () => {
    left ??= executor.stop().then(state.onEnd);
    return left;
  };
  const sight = createFirstSight();
  const takeChanges = createChangeWatch(roots, workspace, sight);
  return {
    kind: "overlay",
    view: watchView(createRemoteView(executor.call), (path) => sight.note(join(workspace, path))),
    directory: workspace,
    environment: state.environment,
    ...state.limited,
    processes: executor.processes,
    takeChanges,
    revert(paths) {
      if (paths.length === 0) return;
      for (const path of paths) restoreThrough(executor.call, resolve(workspace, path));
      takeChanges();
    },
    rewrite(path, bytes) {
      rewriteThrough(
        executor.call,
        resolve(workspace, path),
        bytes,
        currentPlace(roots, resolve(workspace, path)),
      );
      takeChanges();
    },
    look: (path, when) => lookThrough(roots, resolve(workspace, path), when),
    original: (path) => bytesOrNull(resolve(workspace, path)),
    current: (path) => currentBytes(roots, resolve(workspace, path)),
    repository: repositoryOf(workspace),
    async seal(judge): Promise<Sealed> {
      const why = executor.whyEnded();
      if (why !== null) throw why;
      await leave();
      const left: Op[] = [];
      roots.forEach((root, i) => {
        for (const op of sealUpper(folder, root, state.stamp, sight, i, left.length)) left.push(op);
      });
      const paths = roots.map(({ path }) => path);
      const { ops } = judgeOps({ folder, workspace, roots: paths, ops: left }, judge);
      makeDurable(folder, ops);
      writePlan(folder, { roots: paths, stamp: String(state.stamp), ops });
      clearLayers(folder, roots.length);
      return { changes: changesOf(ops, paths, workspace), outside: [], notes: [] };
    },
    async discard() {
      await leave();
      clearLayers(folder, roots.length);
      removeSlots(folder);
    },
  };
}

/** The kernel leaves a folder without permissions inside each work folder. */
function clearLayers(folder: JobFolder, count: number): void {
  for (let i = 0; i < count; i++)
    for (const layer of ["w", "u"]) removeTree(join(folder.path, `${layer}${i}`));
}
