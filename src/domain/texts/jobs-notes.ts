import {
  type Change,
  type Conflict,
  changedFiles,
  countFiles,
  findGitFolder,
  type InterruptedFiles,
  isDiskTrouble,
  isOfInterrupted,
  isSystemTrouble,
  type KeptAside,
  type NamedJob,
  type Note,
  type NoteFact,
  nameJob,
} from "../jobs/result.ts";
import type { LineCounts } from "../patch/compare-lines.ts";
import { shownPath, type WordTable, wordBy } from "./format-text.ts";
import { type Messages, reportMessages } from "./jobs.ts";
import { confinementMessages } from "./policy.ts";

/** Why jobs cannot be read: one text for all jobs behind the same closed folder. */
export function wordUnreadable(
  messages: Messages,
  jobs: readonly (NamedJob & { readonly damaged?: string; readonly closed?: string })[],
): string[] {
  const causes = new Map(jobs.map((job) => [job.closed ?? job.damaged, job]));
  return [...causes.values()].flatMap((job) => {
    if (job.closed !== undefined) return [messages.recordClosed(nameJob(job), job.closed)];
    return job.damaged === undefined ? [] : [messages.recordDamaged(nameJob(job), job.damaged)];
  });
}

export function wordNote(messages: Messages, note: Note): string {
  if (typeof note === "string") return note;
  const confinement = confinementMessages(messages.locale);
  const words: WordTable<"code", NoteFact> = {
    "sealed-otherwise": reportMessages(messages.locale).sealedOtherwise,
    staging: ({ kind, reason }) => messages.transactionKind(kind, reason),
    "foreign-repository": messages.foreignRepository,
    "not-covered": ({ what }) => messages.notCovered(what),
    repaired: messages.jobRepaired,
    limited: confinement.limited,
    "auto-commit-failed": ({ error }) => messages.autoCommitFailed(error),
    merged: ({ path, by, lost }) =>
      lost === true ? messages.replacedChange([shownPath(path)]) : messages.mergedWith(shownPath(path), by),
    "answer-skipped": ({ parts }) => messages.answerSkipped(parts.map(shownPath)),
    "hook-refused": messages.hookRefused,
    "hook-failed": messages.hookFailed,
    rebuilt: ({ paths }) => messages.undoRebuilt(paths.map(shownPath)),
    "protected-restored": ({ paths }) => messages.protectedRestored(paths),
    "filter-unknown": ({ paths }) => messages.filterUnknown(paths),
    "protected-created": ({ paths }) => messages.protectedCreated(paths),
    "protected-logged": ({ paths }) => messages.protectedLogged(paths),
    "host-refused": confinement.refusedHost,
    "home-hidden": ({ paths }) => confinement.homeHidden(paths),
    "secret-hidden": ({ paths }) => confinement.secretHidden(paths),
    "home-left-out": ({ paths }) => confinement.homeLeftOut(paths),
    "network-limited": ({ network, list }) => confinement.networkLimited(network, list),
    "hosts-reached": ({ hosts }) => confinement.hostsReached(hosts),
    "model-network": confinement.modelNetworkTold,
    "model-network-open": confinement.modelNetworkOpen,
    "memory-ran-out": confinement.memoryRanOutIn,
    "limit-met": ({ limit, value }) => confinement.limitMet(limit, value),
    "not-confined": messages.notConfined,
    "shell-not-undoable": messages.shellNotUndoable,
    "undone-by-task": messages.undoIsTheTasks,
    "identity-fallback": messages.identityFallback,
    "signing-skipped": messages.signingSkipped,
    "rename-across-layers": messages.renameAcrossLayers,
    "link-across-layers": messages.linkAcrossLayers,
    "foreign-owner": messages.foreignOwner,
    "foreign-owner-met": messages.foreignOwnerMet,
  };
  return wordBy("code", words, ({ code }) => messages.noteOfNewer(code))(note);
}

/** Where commands are given: `picoclaw undo …`, or `/undo …`. */
export type Surface = "terminal" | "chat";
/** In the console, buttons offer them. */
export type ShownAt = Surface | "console";

/** A conflicting path, with the job or the process that holds it. */
export function describeConflict(messages: Messages, conflict: Conflict, at: Surface): string {
  const { by, reason } = conflict;
  const path = shownPath(conflict.path);
  if (reason === "no-access") return messages.fileTrouble("permission-denied", path);
  if (reason === "parent-missing") return messages.parentNoFolder(path);
  if (isDiskTrouble(reason)) return messages.fileTrouble(reason, path);
  if (by === undefined && reason === "missing") return messages.deletedSince(path);
  if (by === undefined || reason === "kept-aside") return path;
  if (isUnrecorded(conflict)) return messages.repairImpossible(by, path, reason === "newer");
  if (reason === "interrupted") return messages.repairStuck(by, [path]);
  if (reason === "redo-first") return messages.redoFirst(path, by, at);
  return /^(?:job_|#\d)/.test(by) && reason !== "open"
    ? messages.changedByJob(path, by, at)
    : `${path} (${by})`;
}

/** The interrupted job that cannot be finished, if that is the conflict. */
export function stuckJob(conflicts: readonly Conflict[]): string | null {
  return conflicts.find(({ reason }) => isOfInterrupted(reason))?.by ?? null;
}

function isUnrecorded({ reason }: Conflict): boolean {
  return reason === "damaged" || reason === "newer";
}

/** The entries that could not be put back, if there are any: then it is not true that nothing happened. */
export function findKeptAside(conflicts: readonly Conflict[]): KeptAside | null {
  const aside = conflicts.filter(({ reason }) => reason === "kept-aside");
  const [first] = aside;
  return first === undefined
    ? null
    : { folder: first.by ?? "", paths: aside.map(({ path }) => shownPath(path)) };
}

/** Why nothing was committed. A preview with forbidden writes cannot be tried again unchanged. */
export function describeConflicts(
  messages: Messages,
  jobId: string,
  conflicts: readonly Conflict[],
  at: Surface,
): string {
  const damaged = conflicts.find(isUnrecorded);
  if (damaged !== undefined) return describeConflict(messages, damaged, at);
  const stuck = stuckJob(conflicts);
  if (stuck !== null) {
    const causes = conflicts.filter(isSystemTrouble).map((one) => describeConflict(messages, one, at));
    const paths = new Set(conflicts.map(({ path }) => shownPath(path)));
    return [...causes, messages.repairStuck(stuck, [...paths])].join("\n");
  }
  const aside = findKeptAside(conflicts);
  if (aside !== null) return messages.keptAside(jobId, aside);
  const paths = conflicts.map((conflict) => describeConflict(messages, conflict, at));
  return conflicts.every(isSystemTrouble)
    ? [...paths, messages.nothingApplied(jobId)].join("\n")
    : messages.commitConflict(jobId, paths, at);
}

/** The state of the files of an interrupted job, up to a limit per kind. */
export function interruptedFileLines(
  messages: Messages,
  { before, after, moved, edited }: InterruptedFiles,
  most = SHOWN,
): string[] {
  const words = messages.interruptedFiles;
  const group = (head: (count: number) => string, list: readonly string[]) =>
    list.length === 0
      ? []
      : [
          `  ${head(list.length)}`,
          ...list.slice(0, most).map((line) => `    ${line}`),
          ...(list.length > most ? [`    … +${list.length - most}`] : []),
        ];
  return [
    words.head,
    ...group(words.before, before.map(shownPath)),
    ...group(words.after, after.map(shownPath)),
    ...group(
      words.moved,
      moved.map(({ path, at }) => (at === null ? shownPath(path) : `${shownPath(path)}: ${at}`)),
    ),
    ...group(words.edited, edited.map(shownPath)),
  ];
}

const SHOWN = 50;
const MARKS = { added: "A", modified: "M", deleted: "D" } as const;

/** The changed paths under their number; git's own bookkeeping and what it ignores as one line each. Empty without any. */
export function changeLines(
  messages: Messages,
  changes: readonly Change[],
  counts: Readonly<Record<string, LineCounts>> = {},
): string {
  if (changes.length === 0) return "";
  const { files, git, ignored } = foldChanges(changes);
  const counted = (of?: LineCounts) => (of === undefined ? "" : ` +${of.added} −${of.removed}`);
  const lines = files
    .slice(0, SHOWN)
    .map(({ path, kind }) => `  ${MARKS[kind]} ${shownPath(path)}${counted(counts[path])}`);
  if (files.length > SHOWN) lines.push(`  … +${files.length - SHOWN}`);
  return [
    messages.changesHeader(countFiles(changes)),
    ...lines,
    ...foldedLines(messages, { git, ignored }),
  ].join("\n");
}

type Folded = ReturnType<typeof foldChanges>;

/** The changed files that a reader looks for, apart from git's bookkeeping and from paths that git ignores. */
export function foldChanges(all: readonly Change[]) {
  const changes = changedFiles(all);
  const own = changes.filter(({ path }) => findGitFolder(path) === undefined);
  /** The number of changes in each git directory. */
  const git = new Map<string, number>();
  for (const { path } of changes) {
    const place = findGitFolder(path);
    if (place !== undefined) git.set(place, (git.get(place) ?? 0) + 1);
  }
  return {
    files: own.filter(({ ignored }) => ignored === undefined),
    git,
    ignored: own.filter(({ ignored }) => ignored !== undefined),
  };
}

export function foldedLines(messages: Messages, { git, ignored }: Omit<Folded, "files">): string[] {
  const places = [...new Set(ignored.map((change) => change.ignored as string))];
  return [
    ...[...git].slice(0, SHOWN).map(([place, count]) => `  M ${shownPath(place)} (${count})`),
    ...(git.size > SHOWN ? [`  … +${git.size - SHOWN}`] : []),
    ...(ignored.length > 0 ? [`  ${reportMessages(messages.locale).ignored(ignored.length, places)}`] : []),
  ];
}
