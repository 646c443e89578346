import type { CommandResult } from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { isLockFile, isSameFile } from "../../domain/platform/file-bytes.ts";
import type { MergeResult, MergeSides } from "../../domain/platform/merge.ts";
import type { DraftConflict, MergedNote, Rebased } from "../ports/jobs-draft.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";

export interface RebaseDeps {
  readonly transaction: Transaction;
  /** The commands that ran in the draft and count; commands that reach outward are not included. */
  readonly results: readonly CommandResult[];
  /** The base contents of edits, if they differ from the workspace when the edits ran; updated here. */
  readonly bases: Map<string, Uint8Array | null>;
  readonly asRun: ReadonlyMap<string, Uint8Array | null | undefined>;
  /** The job that changed a path; null where none did. */
  readonly whoChanged: (path: string) => string | null;
  /** Runs commands in the draft; null where they cannot run. */
  readonly runAgain: (commands: readonly PatchCommand[]) => Promise<readonly CommandResult[] | null>;
}

/** How often a merge is tried again when its file is saved meanwhile. */
const TRIES = 3;

/**
 * Rebases an idle draft onto the current workspace:
 *   files that others changed since → merged if both sides are edited text
 *   → files that commands wrote: dropped, and the commands run again; merged too if they produce the same bytes
 *   → every remaining file is a conflict and keeps the draft's version
 */
export async function rebaseDraft(deps: RebaseDeps): Promise<Rebased> {
  const { layers } = deps.transaction;
  const none: Rebased = { merged: [], conflicts: [], failed: [] };
  if (layers?.moved === undefined || layers.adopt === undefined || layers.forget === undefined) return none;
  await layers.rest();
  const merged: MergedNote[] = [];
  const conflicts: DraftConflict[] = [];
  const edited = changedBy(deps.results, true);
  const written = changedBy(deps.results, false);
  const again = new Map<string, Uint8Array | null | undefined>();
  const keep = (settled: DraftConflict | MergedNote | null) => {
    if (settled === null) return;
    if ("why" in settled) conflicts.push(settled);
    else merged.push(settled);
  };
  for (const [path, base] of movedPaths(deps))
    if (written.has(path) && !edited.has(path)) again.set(path, base);
    else keep(await settleFile(deps, path, base));
  if (again.size === 0) return { merged, conflicts, failed: [] };
  const commands = deps.results.filter(
    ({ command, changes }) => command.type !== "file_edit" && changes.some(({ path }) => again.has(path)),
  );
  const theirs = commands.flatMap(({ changes }) => changes.map(({ path }) => path));
  const asLeft = (path: string) =>
    deps.asRun.has(path) ? deps.asRun.get(path) : deps.transaction.current(path);
  const before = new Map([...again.keys()].map((path) => [path, asLeft(path)]));
  layers.forget(theirs.filter((path) => !edited.has(path)));
  const ran = await deps.runAgain(commands.map(({ command }) => command));
  const failed = ran === null ? commands : ran.filter(({ success }) => !success);
  if (failed.length > 0) return { merged, conflicts, failed };
  for (const [path, base] of again) {
    // A command whose result does not depend on the file would overwrite the changes of others: its new result is not a merge.
    const isBlind = !isLockFile(path) && isSameFile(before.get(path) ?? null, deps.transaction.current(path));
    keep(isBlind ? await settleFile(deps, path, base) : { path, by: deps.whoChanged(path) });
  }
  return { merged, conflicts, failed };
}

/** Paths that edits changed, or with `edits` false, commands. */
function changedBy(results: readonly CommandResult[], edits: boolean): Set<string> {
  return new Set(
    results
      .filter(({ command, success }) => success && (command.type === "file_edit") === edits)
      .flatMap(({ changes }) => changes.map(({ path }) => path)),
  );
}

/** The paths where the workspace differs from the draft's start, or from the base of its edits. */
function movedPaths({ transaction, bases }: RebaseDeps): Map<string, Uint8Array | null | undefined> {
  const moved = new Map<string, Uint8Array | null | undefined>();
  for (const { path, base } of transaction.layers?.moved?.() ?? [])
    if (!/(^|\/)\.git\//.test(path)) moved.set(path, base);
  const changed = new Set(transaction.layers?.changes().map(({ path }) => path));
  for (const [path, base] of bases)
    if (changed.has(path) && (moved.has(path) || !isSameFile(base, transaction.original(path))))
      moved.set(path, base);
  return moved;
}

async function settleFile(
  deps: RebaseDeps,
  path: string,
  base: Uint8Array | null | undefined,
): Promise<DraftConflict | MergedNote | null> {
  const { transaction, bases } = deps;
  const { layers } = transaction;
  for (let attempt = 1; ; attempt++) {
    const ours = transaction.current(path);
    const theirs = transaction.original(path);
    const result = await mergeSides(transaction, path, { base, ours, theirs });
    switch (result.kind) {
      case "same":
      case "theirs":
        layers?.forget?.([path]);
        bases.delete(path);
        return null;
      case "ours":
      case "clean": {
        const bytes = result.kind === "clean" ? result.bytes : ours;
        // A removed file cannot take over a change of others, such as a mode.
        if (bytes === null && layers?.moved?.().some((one) => one.path === path))
          return { path, why: "gone", base, ours, theirs };
        if (theirs === null || bytes === null) return null;
        if (layers?.adopt?.(path, theirs, bytes) === true) {
          bases.delete(path);
          return result.kind === "clean" ? { path, by: deps.whoChanged(path) } : null;
        }
        if (attempt < TRIES) continue;
        return { path, why: "touching", base, ours, theirs };
      }
      case "conflict":
        return { path, why: result.why, base, ours, theirs };
    }
  }
}

async function mergeSides(
  transaction: Transaction,
  path: string,
  sides: MergeSides,
): Promise<MergeResult | { readonly kind: "conflict"; readonly why: DraftConflict["why"] }> {
  const kinds = (["before", "after"] as const).map((when) => transaction.look(path, when)?.kind ?? "file");
  if (kinds.some((kind) => kind !== "file")) return { kind: "conflict", why: "not-text" };
  // Most drafts land on an unchanged workspace and need no merge library.
  const { mergeFile } = await import("../../domain/platform/merge.ts");
  const result = mergeFile(sides);
  return result.kind === "clean" && isLockFile(path) ? { kind: "conflict", why: "lock-file" } : result;
}
