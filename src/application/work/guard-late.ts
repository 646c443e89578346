import type { Change, CommandResult } from "../../domain/patch/result.ts";
import { type GuardParts, guardChanges } from "./guard-changes.ts";

/**
 * What a process did after its command had ended, up to its own end, is judged like the command's own: a process that
 * stays behind could wait for that look. Called when none is left. The blame goes to the last command that ran any.
 */
export function guardLate(parts: GuardParts, results: readonly CommandResult[]): readonly CommandResult[] {
  const isEdit = ({ command }: CommandResult) => command.type === "file_edit";
  const first = results.findIndex((one) => !isEdit(one));
  if (first === -1 || parts.transaction.directory === null) return results;
  const last = results.findLastIndex((one) => !isEdit(one));
  // The look after an edit saw what processes did meanwhile, and nobody judged it.
  const seen = results.slice(first).filter(isEdit);
  const { restored } = guardChanges(
    parts,
    latest([
      ...seen.flatMap(({ changes }) => changes),
      ...parts.transaction.takeChanges({ processRan: true }),
    ]),
  );
  if (restored.length === 0) return results;
  const skipped = restored.filter(({ rule }) => rule === "protected" && parts.protection.action === "skip");
  const failing = restored.filter((one) => !skipped.includes(one)).map(({ why }) => `${why} (restored)`);
  return results.map((result, index) => {
    if (index !== last) return result;
    const { notes, success, error } = result;
    return {
      ...result,
      success: success && failing.length === 0,
      error: [error, ...failing].filter((line) => line !== "").join("\n"),
      notes:
        skipped.length === 0
          ? notes
          : [...notes, { code: "protected-restored", paths: skipped.map(({ path }) => path) }],
    };
  });
}

/** One change per path; what is new stays new, however often it was written. */
function latest(changes: readonly Change[]): Change[] {
  const byPath = new Map<string, Change>();
  for (const change of changes) {
    const isNew = byPath.get(change.path)?.kind === "added" && change.kind === "modified";
    if (!isNew) byPath.set(change.path, change);
  }
  return [...byPath.values()];
}
