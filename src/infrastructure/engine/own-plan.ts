import { join, relative, resolve } from "node:path";
import { isInside, rootsFor } from "./git-roots.ts";
import { type JobFolder, type Plan, readPlan, readPlanRoots, readWhole } from "./job-folder.ts";

export type OwnPlan =
  | { readonly status: "own"; readonly plan: Plan }
  | { readonly status: "none" }
  /** A root of the plan is neither the workspace nor a part of its repository: nothing of it may be carried out. */
  | { readonly status: "foreign"; readonly root: string };

/** A job's plan with its roots as they lie now: the workspace may have been moved since, and they with it. */
export function readOwnPlan(folder: JobFolder, workspace: string): OwnPlan {
  const plan = readPlan(folder);
  if (plan === null) return { status: "none" };
  const own = ownRoots(folder, workspace, plan.roots);
  return own.status === "own" ? { status: "own", plan: { ...plan, roots: own.roots } } : own;
}

/** The roots of a job's plan as they lie now, where all of them are the workspace's own. */
export function readOwnRoots(folder: JobFolder, workspace: string): readonly string[] {
  const planned = readPlanRoots(folder);
  const own = planned === null ? null : ownRoots(folder, workspace, planned);
  return own?.status === "own" ? own.roots : [];
}

function ownRoots(
  folder: JobFolder,
  workspace: string,
  planned: readonly string[],
): { readonly status: "own"; readonly roots: readonly string[] } | Extract<OwnPlan, { status: "foreign" }> {
  const written = readWhole<{ workspace?: string }>(join(folder.path, "job.json"))?.workspace ?? workspace;
  const own = [workspace, ...rootsFor(workspace)];
  const roots: string[] = [];
  for (const root of planned) {
    const moved = written === workspace ? root : resolve(workspace, relative(written, root));
    const now = [moved, root].find((path) => own.some((one) => isInside(one, path)));
    if (now === undefined) return { status: "foreign", root };
    roots.push(now);
  }
  return { status: "own", roots };
}
