import {
  type Bounds,
  type FollowLinks,
  type ResolvedTarget,
  resolveTarget,
} from "../platform/resolve-target.ts";
import type { EditPolicy } from "../ports/jobs-workspace.ts";
import { type View, ViewFault } from "../ports/platform-view.ts";

/** A target that passed the boundary and the rules, or must be skipped; `logged`: a protected file that is changed all the same. */
export type PermittedTarget =
  | { readonly allowed: true; readonly target: ResolvedTarget; readonly logged?: string }
  | { readonly allowed: false; readonly skipped: string };

/** A refusal as a value; the command fails, and `stop_on_error` decides whether the job continues. */
export class PolicyFault extends Error {
  constructor(
    readonly code: "protected" | "git" | "picoclaw",
    readonly path: string,
    message: string,
  ) {
    super(message);
    this.name = "PolicyFault";
  }
}

/** Why neither an edit nor a command changes a file that belongs to the user's programs. */
export const HOME_DENIAL =
  "files of your home that programs run or obey cannot be changed by a job (worker.home_writes allows it)";

/** Checks one path of a file edit, as written and where it really leads. */
export function permitTarget(
  policy: EditPolicy,
  view: View,
  target: string,
  options: { follow: FollowLinks; denial?: string },
): PermittedTarget {
  const bounds: Bounds = { view, rootNames: policy.rootNames };
  const resolved = resolveTarget(bounds, target, options.follow);
  if (resolved.path === "") throw new ViewFault("is-directory", target, `is a directory: ${target}`);
  for (const path of new Set([resolved.path, resolved.asWritten])) {
    const forbidden = policy.protection.forbids(path);
    if (forbidden === "git")
      throw new PolicyFault("git", target, `git internals cannot be modified by file_edit: ${target}`);
    if (forbidden === "picoclaw")
      throw new PolicyFault("picoclaw", target, `PicoClaw's own files cannot be modified: ${target}`);
    const isOfHome = policy.protection.ofHome(path) !== null;
    const pattern = policy.protection.protects(path) ?? (isOfHome ? "worker.home_writes" : null);
    if (pattern === null) continue;
    const denial = isOfHome ? HOME_DENIAL : (options.denial ?? "protected file cannot be modified");
    switch (policy.protection.action) {
      case "error":
        throw new PolicyFault("protected", target, `${denial}: ${target}`);
      case "skip":
        return { allowed: false, skipped: target };
      case "log":
        return { allowed: true, target: resolved, logged: target };
    }
  }
  return { allowed: true, target: resolved };
}

/** A folder moves with its contents: each protected entry in it counts as if it were named. */
export function permitBelow(
  policy: EditPolicy,
  view: View,
  from: string,
  to: string,
): { readonly allowed: boolean; readonly logged: readonly string[] } {
  const logged: string[] = [];
  const pending = [""];
  while (pending.length > 0) {
    const folder = pending.pop() as string;
    for (const name of view.list(`${from}${folder}`)) {
      const below = `${folder}/${name}`;
      const [here, there] = [`${from}${below}`, `${to}${below}`];
      const { protects, ofHome } = policy.protection;
      const isOfHome = ofHome(here) !== null || ofHome(there) !== null;
      const pattern = protects(here) ?? protects(there) ?? (isOfHome ? "worker.home_writes" : null);
      if (pattern !== null) {
        if (policy.protection.action === "error")
          throw new PolicyFault("protected", here, `protected file cannot be modified: ${here}`);
        if (policy.protection.action === "skip") return { allowed: false, logged };
        logged.push(here);
      }
      if (view.look(here).kind === "directory") pending.push(below);
    }
  }
  return { allowed: true, logged };
}
