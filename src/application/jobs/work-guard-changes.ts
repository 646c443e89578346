import type { Change } from "../../domain/jobs/result.ts";
import type { Protection } from "../../domain/policy/protection.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import { type RestoredChange, validateChanges } from "./judge-changes.ts";

/** What a process did to files it may not touch, and what became of it. */
export interface GuardedChanges {
  /** The change set without what was put back. */
  readonly changes: readonly Change[];
  readonly restored: readonly RestoredChange[];
  /** New files that match a protected pattern: reported, not touched. */
  readonly created: readonly string[];
  /** Protected files that changed under `action_on_protected_file: log`. */
  readonly logged: readonly string[];
}

export interface GuardDeps {
  readonly transaction: Transaction;
  readonly protection: Protection;
  readonly sha1: (bytes: Uint8Array) => string;
}

/**
 * Looks at what a process changed, and restores what it may not change, so that the next command does not build on it.
 * What else runs may undo this at once: the last word is the judgement of what is sealed (`last-judgement.ts`).
 */
export function guardChanges(
  { transaction, protection, sha1 }: GuardDeps,
  changes: readonly Change[],
): GuardedChanges {
  const { restored, rewrite, created, logged } = validateChanges(
    { sides: transaction, protection, sha1 },
    changes,
  );
  const back = new Set(restored.map(({ path }) => path).filter((path) => !rewrite.has(path)));
  transaction.revert([...back]);
  for (const [path, bytes] of rewrite) transaction.rewrite(path, bytes);
  return { changes: changes.filter(({ path }) => !back.has(path)), restored, created, logged };
}
