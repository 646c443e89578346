import {
  type Change,
  type CommandResult,
  homeLeftOut,
  isSameNote,
  type Note,
} from "../../domain/jobs/result.ts";
import { readGitIndex } from "../../domain/platform/git-index.ts";
import { createIgnoreMatcher } from "../../domain/platform/ignore-rules.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import { findCaches, inDependencyFolder, type Protection } from "../../domain/policy/protection.ts";
import { shownPath } from "../../domain/texts/format-text.ts";
import type { BeforeAndAfter, Difference, SealedChanges } from "../ports/jobs-transaction.ts";
import { type GuardDeps, guardChanges, type RestoredChange, validateChanges } from "./guard-changes.ts";

/** By path: changes that git ignores by the rules that the job leaves, without files that git tracks before or after. */
function ignoredChanges(sides: BeforeAndAfter, changes: readonly Change[]): ReadonlyMap<string, string> {
  const { repository } = sides;
  const found = new Map<string, string>();
  if (repository === null) return found;
  const ignored = createIgnoreMatcher({ read: (path) => text(sides.current(path)), includeIgnored: false });
  const topmost = createTopmost(ignored.has);
  for (const { path, kind } of changes) {
    if (path.startsWith("..") || GIT.test(path)) continue;
    const folder = () => sides.look(path, kind === "deleted" ? "before" : "after")?.kind === "directory";
    const top = topmost(path, folder);
    if (top !== null) found.set(path, top);
  }
  if (found.size === 0) return found;
  for (const path of trackedPaths(sides)) found.delete(path);
  return found;
}

const GIT = /(^|\/)\.git(\/|$)/;

/** The part of a path that git ignores: itself, or the uppermost folder above. Folders are asked about once. */
function createTopmost(has: (path: string, isFolder: boolean) => boolean) {
  const folders = new Map<string, string | null>();
  const topOf = (folder: string): string | null => {
    if (folder === "") return null;
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const top = topOf(parentOf(folder)) ?? (has(folder, true) ? `${folder}/` : null);
    folders.set(folder, top);
    return top;
  };
  return (path: string, isFolder: () => boolean): string | null => {
    const above = topOf(parentOf(path));
    if (above !== null) return above;
    const folder = isFolder();
    return has(path, folder) ? `${path}${folder ? "/" : ""}` : null;
  };
}

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/** Validates and seals a job whose processes are gone: one may have acted after its command was judged. The last command is blamed. */
export async function sealValidated(
  { transaction, protection, sha1 }: GuardDeps,
  results: readonly CommandResult[],
  end: { readonly preview: boolean },
): Promise<{ readonly sealed: SealedChanges; readonly judged: readonly CommandResult[] }> {
  let found: readonly RestoredChange[] = [];
  let ignored: ReadonlyMap<string, string> = new Map();
  let ofHome: readonly string[] = [];
  const left = await transaction.seal((difference) => {
    const changes = withGone(difference);
    const secrets = transaction.secretFiles?.() ?? [];
    const verdict = validateChanges({ sides: difference, protection, secrets, sha1 }, changes);
    const { restored, rewrite, same, leftOut } = verdict;
    found = restored;
    ofHome = leftOut;
    // A file that was edited by name is reported by name.
    if (transaction.kind !== "direct") ignored = ignoredChanges(difference, difference.changes);
    const drop = restored.map(({ path }) => path).filter((path) => !rewrite.has(path));
    const caches = cachesIn(difference, difference.changes, editedPaths(results));
    return { drop: [...drop, ...same, ...leftOut, ...caches.keys()], rewrite };
  }, end);
  const sealed = {
    ...left,
    changes: left.changes.map((change) => {
      const by = ignored.get(change.path);
      return by === undefined ? change : { ...change, ignored: by };
    }),
  };
  const judged = noteLeftOut(blamed(protection, results, found), ofHome);
  const why = wordUnstaged(sealed);
  return { sealed, judged: why === null ? judged : blameLastProcess(judged, why) };
}

function wordUnstaged({
  noText = [],
  foreignOwner,
  outlived,
  tooDeep,
  unseen,
}: SealedChanges): string | null {
  if (tooDeep !== undefined) {
    const starts = tooDeep.slice(0, NAMED_AT_MOST).map((path) => `${shownPath(path.slice(0, 80))}…`);
    return `paths that are too long for the system to open cannot be committed: ${starts.join(", ")}`;
  }
  if (unseen !== undefined)
    return `moved to another mount, or to a folder that the job cannot see, where nothing can be committed: ${nameSome(unseen.map(shownPath))}`;
  if (outlived !== undefined)
    return `processes of this job could not be ended, so nothing of it is committed: ${nameSome(outlived)}`;
  if (foreignOwner !== undefined)
    return `an overlay cannot change a file of another owner or group: ${foreignOwner}`;
  const paths = [...new Set(noText)].map(shownPath);
  return paths.length === 0 ? null : `names that are not UTF-8 cannot be committed: ${nameSome(paths)}`;
}

/** Called when the processes of some commands have ended: judges the changes after the commands' own judgements. */
export function validateSettled(
  deps: GuardDeps,
  results: readonly CommandResult[],
): readonly CommandResult[] {
  const first = results.findIndex((one) => !isEdit(one));
  if (first === -1 || deps.transaction.directory === null) return results;
  // The changes recorded after an edit include those of running processes, which were not validated.
  const seen = results.slice(first).filter(isEdit);
  const changes = latestChanges([
    ...seen.flatMap(({ changes }) => changes),
    ...deps.transaction.takeChanges({ processRan: true }),
  ]);
  const { restored, leftOut } = guardChanges(deps, changes);
  const judged = noteLeftOut(blamed(deps.protection, results, restored), leftOut);
  return withoutCaches(deps.transaction, judged, changes);
}

/** Reverts the changes in tools' caches, which neither land nor count. */
function withoutCaches(
  transaction: GuardDeps["transaction"],
  results: readonly CommandResult[],
  late: readonly Change[],
): readonly CommandResult[] {
  const made = [...results.flatMap(({ changes }) => changes), ...late];
  const caches = cachesIn(transaction, made, editedPaths(results));
  if (caches.size === 0) return results;
  const old = new Set<string>();
  for (const [path, top] of caches)
    if (path !== top && caches.has(top) && !old.has(top) && transaction.original(path) !== null) old.add(top);
  const isNew = (top: string) => caches.has(top) && !old.has(top);
  transaction.revert([...new Set([...caches].map(([path, top]) => (isNew(top) ? top : path)))]);
  return results.map((result) =>
    isEdit(result) ? result : { ...result, changes: result.changes.filter(({ path }) => !caches.has(path)) },
  );
}

function editedPaths(results: readonly CommandResult[]): ReadonlySet<string> {
  return new Set(results.filter(isEdit).flatMap(({ changes }) => changes.map(({ path }) => path)));
}

/** By path: the uppermost tool cache of a change, unless git tracks or an edit named something there. A removal is deliberate. */
function cachesIn(
  sides: BeforeAndAfter,
  changes: readonly Change[],
  edited: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const made = changes.filter(({ path, kind }) => kind !== "deleted" && !path.startsWith(".."));
  const found = findCaches(made.map(({ path }) => path));
  if (found.size === 0) return found;
  const tops = new Set(found.values());
  const kept = new Set<string>();
  for (const path of [...edited, ...trackedPaths(sides)])
    for (let at = path; at !== ""; at = parentOf(at)) if (tops.has(at)) kept.add(at);
  return new Map([...found].filter(([, top]) => !kept.has(top)));
}

function trackedPaths({ repository, original, current }: BeforeAndAfter): readonly string[] {
  if (repository === null) return [];
  const prefix = repository.workspaceAt === "" ? "" : `${repository.workspaceAt}/`;
  return [original(repository.index), current(repository.index)].flatMap((bytes) =>
    ((bytes === null ? null : readGitIndex(bytes)) ?? []).flatMap(({ path }) =>
      path.startsWith(prefix) ? [path.slice(prefix.length)] : [],
    ),
  );
}

/** An entry removed with its folder counts as if it were named; tools own the folders that they fill. */
function withGone(difference: Difference): readonly Change[] {
  const changes: Change[] = [...difference.changes];
  for (const { path, kind } of difference.changes) {
    if (kind === "added" || difference.look(path, "before")?.kind !== "directory") continue;
    if (kind === "modified" && difference.look(path, "after")?.kind === "directory") continue;
    if (inDependencyFolder(`${path}/`)) continue;
    for (const below of difference.below(path)) changes.push({ path: below, kind: "deleted" });
  }
  return changes;
}

function blamed(
  protection: Protection,
  results: readonly CommandResult[],
  found: readonly RestoredChange[],
): readonly CommandResult[] {
  if (results.length === 0 || found.length === 0) return results;
  const skipped = found.filter(({ rule }) => rule === "protected" && protection.action === "skip");
  const failing = found
    .filter((one) => !skipped.includes(one))
    .map(({ why }) => `${why} (restored)`)
    // In a container the first judgement cannot put anything back: the second finds the same once more.
    .filter((line) => results.every(({ error }) => !error.split("\n").includes(line)));
  const note: Note = { code: "protected-restored", paths: skipped.map(({ path }) => path) };
  const judged = failing.length === 0 ? results : blameLastProcess(results, failing.join("\n"));
  return skipped.length === 0 ? judged : noteAtLastProcess(judged, note);
}

/** The last command that ran a process; where none did, the last. */
function lastProcess(results: readonly CommandResult[]): number {
  const runner = results.findLastIndex((one) => !isEdit(one));
  return runner === -1 ? results.length - 1 : runner;
}

function noteAtLastProcess(results: readonly CommandResult[], note: Note): readonly CommandResult[] {
  const last = lastProcess(results);
  if (results[last]?.notes.some((one) => isSameNote(one, note))) return results;
  return results.map((result, i) => (i === last ? { ...result, notes: [...result.notes, note] } : result));
}

/** The last command that ran a process says which files of a home did not come along, unless one said so before. */
function noteLeftOut(results: readonly CommandResult[], paths: readonly string[]): readonly CommandResult[] {
  const note = homeLeftOut(paths);
  const isSaid = results.some(({ notes }) => notes.some((one) => isSameNote(one, note)));
  return paths.length === 0 || isSaid || results.every(isEdit) ? results : noteAtLastProcess(results, note);
}

const NAMED_AT_MOST = 10;

function nameSome(names: readonly string[]): string {
  const more = names.length > NAMED_AT_MOST ? ` and ${names.length - NAMED_AT_MOST} more` : "";
  return `${names.slice(0, NAMED_AT_MOST).join(", ")}${more}`;
}

function blameLastProcess(results: readonly CommandResult[], why: string): readonly CommandResult[] {
  const last = lastProcess(results);
  return results.map((result, index) => {
    if (index !== last) return result;
    const error = [result.error, why].filter((line) => line !== "").join("\n");
    return { ...result, success: false, error };
  });
}

function isEdit({ command }: CommandResult): boolean {
  return command.type === "file_edit";
}

/** One change per path; an added file stays added, however often it was written. */
function latestChanges(changes: readonly Change[]): Change[] {
  const byPath = new Map<string, Change>();
  for (const change of changes) {
    const isNew = byPath.get(change.path)?.kind === "added" && change.kind === "modified";
    if (!isNew) byPath.set(change.path, change);
  }
  return [...byPath.values()];
}
