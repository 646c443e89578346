import { join, relative, resolve } from "node:path";
import { isInside, rootsFor } from "./git-roots.ts";
import { type JobFolder, type Plan, readJson, readPlan } from "./job-folder.ts";

export type OwnPlan =
  | { readonly status: "own"; readonly plan: Plan }
  | { readonly status: "none" }
  /** A root of the plan is neither the workspace nor a part of its repository: nothing of it may be carried out. */
  | { readonly status: "foreign"; readonly root: string };

/** A job's plan with its roots as they lie now: the workspace may have been moved since, and they with it. */
export function readOwnPlan(folder: JobFolder, workspace: string): OwnPlan {
  const plan = readPlan(folder);
  if (plan === null) return { status: "none" };
  const written = readJson<{ workspace?: string }>(join(folder.path, "job.json"))?.workspace ?? workspace;
  const own = [workspace, ...rootsFor(workspace)];
  const roots: string[] = [];
  for (const root of plan.roots) {
    const moved = written === workspace ? root : resolve(workspace, relative(written, root));
    const now = [moved, root].find((path) => own.some((one) => isInside(one, path)));
    if (now === undefined) return { status: "foreign", root };
    roots.push(now);
  }
  return { status: "own", plan: { ...plan, roots } };
}
