import type { Change } from "../../domain/patch/result.ts";
import { newProgramSettings } from "../../domain/policy/git-config.ts";
import { readGitIndex } from "../../domain/policy/git-index.ts";
import { inDependencyFolder, type Protection } from "../../domain/policy/protection.ts";
import type { Transaction } from "../ports/transaction.ts";

/** What a process did to files it may not touch, and what became of it. */
export interface Guarded {
  /** The change set without what was put back. */
  readonly changes: readonly Change[];
  /** Put back to what it was: the command fails (or, with `skip`, is told). */
  readonly restored: readonly { readonly path: string; readonly why: string }[];
  /** New or logged protected files: reported, not touched. */
  readonly noticed: readonly string[];
}

export interface GuardParts {
  readonly transaction: Transaction;
  readonly protection: Protection;
  readonly sha1: (bytes: Uint8Array) => string;
}

/** Looks at what a process changed, and restores what it may not change. Confinement is not assumed. */
export function guardChanges(
  { transaction, protection, sha1 }: GuardParts,
  changes: readonly Change[],
): Guarded {
  const restored: { path: string; why: string }[] = [];
  const noticed: string[] = [];
  const checkedOut = lazily(() =>
    indexOf(transaction.view.look(".git/index").kind === "file" ? transaction.view.read(".git/index") : null),
  );
  const tracked = lazily(() => indexOf(transaction.original(".git/index")));
  for (const change of changes) {
    const { path, kind } = change;
    const why = forbiddenWhy(transaction, protection, change);
    if (why !== null) {
      restored.push({ path, why });
      continue;
    }
    const pattern = protection.protects(path);
    if (pattern === null || inDependencyFolder(path) || insideGit(path)) continue;
    if (kind === "added" || protection.action === "log") {
      noticed.push(path);
      continue;
    }
    if (isGitsOwn(transaction, path, kind, checkedOut(), tracked(), sha1)) continue;
    restored.push({ path, why: `protected file cannot be modified: ${path}` });
  }
  transaction.revert(restored.map(({ path }) => path));
  const back = new Set(restored.map(({ path }) => path));
  return { changes: changes.filter(({ path }) => !back.has(path)), restored, noticed };
}

function forbiddenWhy(
  transaction: Transaction,
  protection: Protection,
  { path, kind }: Change,
): string | null {
  if (!insideGit(path))
    return protection.forbids(path) === "picoclaw"
      ? `PicoClaw's own files cannot be modified: ${path}`
      : null;
  if (kind === "deleted") return null;
  if (/(^|\/)hooks\/[^/]+$/.test(path))
    return path.endsWith(".sample") ? null : `git hooks cannot be installed by a job: ${path}`;
  if (!/(^|\/)config(\.worktree)?$/.test(path) || transaction.view.look(path).kind !== "file") return null;
  const before = transaction.original(path);
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
  const added = newProgramSettings(before === null ? "" : text(before), text(transaction.view.read(path)));
  return added.length === 0
    ? null
    : `git settings that run programs cannot be set by a job: ${added.map(({ name }) => name).join(", ")} (${path})`;
}

function insideGit(path: string): boolean {
  return /(^|\/)\.git\//.test(path);
}

/** What git itself put there (a checkout, a reset) is the repository's content, not a job's edit. */
function isGitsOwn(
  transaction: Transaction,
  path: string,
  kind: Change["kind"],
  now: ReadonlyMap<string, string>,
  before: ReadonlyMap<string, string>,
  sha1: (bytes: Uint8Array) => string,
): boolean {
  if (kind === "deleted") return before.has(path) && !now.has(path);
  const listed = now.get(path);
  if (listed === undefined || listed === before.get(path)) return false;
  const bytes = transaction.view.read(path);
  return sha1(Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes])) === listed;
}

function indexOf(bytes: Uint8Array | null): ReadonlyMap<string, string> {
  const entries = bytes === null ? null : readGitIndex(bytes);
  return new Map((entries ?? []).map(({ path, object }) => [path, object]));
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
