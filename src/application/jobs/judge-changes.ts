import type { Change } from "../../domain/jobs/result.ts";
import { inDependencyFolder, type Protection } from "../../domain/policy/protection.ts";
import type { BeforeAndAfter } from "../ports/jobs-transaction.ts";
import { createGitGuard } from "./guard-changes.ts";
import { createKnownToGit } from "./known-to-git.ts";

/** A change that may not stay, and why. Protected files follow the configured action, the rest always fails. */
export interface RestoredChange {
  readonly path: string;
  readonly why: string;
  readonly rule: "protected" | "git" | "picoclaw";
}

export interface ChangesValidation {
  readonly restored: readonly RestoredChange[];
  /** Those of `restored` of which only a part may not stay: what the file says without it. */
  readonly rewrite: ReadonlyMap<string, Uint8Array>;
  /** Protected files that say what they said before, though they were written anew. */
  readonly same: readonly string[];
  /** New files that match a protected pattern: reported, not touched. */
  readonly created: readonly string[];
  /** Protected files that changed under `action_on_protected_file: log`. */
  readonly logged: readonly string[];
}

export interface ValidateChangesDeps {
  readonly sides: BeforeAndAfter;
  readonly protection: Protection;
  readonly sha1: (bytes: Uint8Array) => string;
}

/** The one rule for what processes of a job may not leave behind, for a command's own judgement and for the last. */
export function validateChanges(
  { sides, protection, sha1 }: ValidateChangesDeps,
  changes: readonly Change[],
): ChangesValidation {
  const restored: RestoredChange[] = [];
  const rewrite = new Map<string, Uint8Array>();
  const same: string[] = [];
  const created: string[] = [];
  const logged: string[] = [];
  const isKnownToGit = createKnownToGit(sides, sha1);
  const git = createGitGuard(sides);
  for (const change of changes) {
    const { path, kind } = change;
    const found = git.forbids(change);
    if (found !== null) {
      restored.push({ path, why: found.why, rule: "git" });
      if (found.without !== undefined) rewrite.set(path, found.without);
      continue;
    }
    if (git.isInside(path)) continue;
    if (protection.forbids(path) === "picoclaw") {
      restored.push({ path, why: `PicoClaw's own files cannot be modified: ${path}`, rule: "picoclaw" });
      continue;
    }
    if (protection.protects(path) === null || inDependencyFolder(path)) continue;
    if (kind === "modified" && saysTheSame(sides, path)) same.push(path);
    else if (protection.action === "log") logged.push(path);
    else if (kind === "added") created.push(path);
    else if (!isKnownToGit(change))
      restored.push({ path, why: `protected file cannot be modified: ${path}`, rule: "protected" });
  }
  return { restored, rewrite, same, created, logged };
}

function saysTheSame(sides: BeforeAndAfter, path: string): boolean {
  const [before, after] = [sides.look(path, "before"), sides.look(path, "after")];
  if (before?.kind !== "file" || after?.kind !== "file" || before.mode !== after.mode) return false;
  const [was, is] = [sides.original(path), sides.current(path)];
  return was !== null && is !== null && Buffer.from(was).equals(is);
}
