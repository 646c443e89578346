import type { Change } from "../../domain/patch/result.ts";
import { inDependencyFolder, type Protection } from "../../domain/policy/protection.ts";
import type { Transaction } from "../ports/transaction.ts";
import { createGitsOwn } from "./gits-own.ts";
import { gitForbids, insideGit } from "./guard-git.ts";

/** A change that was put back, and why. Protected files follow the configured action, the rest always fails. */
export interface PutBack {
  readonly path: string;
  readonly why: string;
  readonly rule: "protected" | "git" | "picoclaw";
}

/** What a process did to files it may not touch, and what became of it. */
export interface Guarded {
  /** The change set without what was put back. */
  readonly changes: readonly Change[];
  readonly restored: readonly PutBack[];
  /** New files that match a protected pattern: reported, not touched. */
  readonly created: readonly string[];
  /** Protected files that changed under `action_on_protected_file: log`. */
  readonly logged: readonly string[];
}

export interface GuardParts {
  readonly transaction: Transaction;
  readonly protection: Protection;
  readonly sha1: (bytes: Uint8Array) => string;
}

/** Looks at what a process changed, and restores what it may not change. Confinement is not assumed. */
export function guardChanges(parts: GuardParts, changes: readonly Change[]): Guarded {
  const { transaction, protection } = parts;
  const restored: PutBack[] = [];
  const created: string[] = [];
  const logged: string[] = [];
  const isGitsOwn = createGitsOwn(transaction, changes, parts.sha1);
  for (const change of changes) {
    const { path, kind } = change;
    const forbidden = forbiddenWhy(transaction, protection, change, changes);
    if (forbidden !== null) {
      restored.push(forbidden);
      continue;
    }
    if (protection.protects(path) === null || inDependencyFolder(path) || insideGit(path)) continue;
    if (protection.action === "log") logged.push(path);
    else if (kind === "added") created.push(path);
    else if (!isGitsOwn(change))
      restored.push({ path, why: `protected file cannot be modified: ${path}`, rule: "protected" });
  }
  transaction.revert(restored.map(({ path }) => path));
  const back = new Set(restored.map(({ path }) => path));
  return { changes: changes.filter(({ path }) => !back.has(path)), restored, created, logged };
}

function forbiddenWhy(
  transaction: Transaction,
  protection: Protection,
  change: Change,
  changes: readonly Change[],
): PutBack | null {
  const { path } = change;
  const why = gitForbids(transaction, change, changes);
  if (why !== null) return { path, why, rule: "git" };
  if (insideGit(path) || protection.forbids(path) !== "picoclaw") return null;
  return { path, why: `PicoClaw's own files cannot be modified: ${path}`, rule: "picoclaw" };
}
