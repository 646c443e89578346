import type { JobStatus } from "../../domain/jobs/job-status.ts";
import type { NoteFact } from "../../domain/jobs/note.ts";
import { type Change, type Conflict, isHalfDone, isSystemTrouble } from "../../domain/jobs/result.ts";
import { type Messages, reportMessages } from "../../domain/texts/jobs.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import { isJobId, repairNotes } from "./execution.ts";
import { paragraphs } from "./job-report.ts";
import { numbersToUndo, type TakeBack, type TakenBack } from "./undo-job.ts";
import type { PreviewCommit, PreviewDiscard, StopJobResult } from "./unfinished-jobs.ts";
import {
  changeLines,
  describeConflict,
  describeConflicts,
  findKeptAside,
  type Surface,
  stuckJob,
  wordNote,
} from "./word-notes.ts";

/**
 * The outcome of undo, redo, applying or discarding a preview, or stopping a job: plain JSON, in no language.
 */
export interface ActionFacts {
  readonly about: "action";
  readonly action: "undo" | "redo" | "apply" | "discard" | "stop";
  readonly code: ActionCode;
  /** Null where there is no job that it could be said of. */
  readonly status: JobStatus | null;
  /** The requested job or group; the blocking job if there is one. */
  readonly name: string;
  readonly workspace: string;
  /** The swapped jobs, in this order; also those before a conflict. */
  readonly done: readonly SwappedJob[];
  readonly conflicts: readonly Conflict[];
  /** Numbers of the jobs to undo together if later ones block the undo, in that order. */
  readonly together?: readonly number[];
  /** Interrupted work that was finished before it, and hooks that failed after it. */
  readonly notes?: readonly NoteFact[];
  readonly state?: string;
  /** `damaged`: the file of the record that cannot be read; `data-gone`: the paths without undo data. */
  readonly paths?: readonly string[];
  readonly pid?: number;
  /** Another machine that did it, or was to do it. */
  readonly machine?: string;
  /** Commands that had failed in a preview that was applied all the same. */
  readonly failedCmds: number;
}

export type ActionCode =
  | "done"
  | "nothing"
  | "unknown-job"
  | "conflict"
  | "busy"
  | "running"
  | "died"
  | "evicted"
  | "not-undoable"
  | "damaged"
  | "data-gone"
  | "workspace-gone"
  | "wrong-state"
  | "not-a-preview"
  | "not-running"
  | "machine-away"
  | "machine-gone"
  | "unsettled";

/** `changes`: as the job itself made them, in either direction. */
interface SwappedJob extends Omit<TakenBack, "job"> {
  readonly jobId: string;
}

/** The source of a job whose commit is pushed for a pull request: no undo reaches the forge. */
export const PULL_SOURCE = "chat:pr";

/** Jobs that one button undoes. */
const MOST_TOGETHER = 8;

export function takeBackFacts(
  { root: workspace, isAlive, archive }: Pick<Workspace, "root" | "isAlive" | "archive">,
  direction: "undo" | "redo",
  taken: TakeBack,
): ActionFacts {
  const done = taken.status === "done" ? taken.jobs : "before" in taken ? taken.before : [];
  const isPushed = direction === "undo" && done.some(({ job }) => job.source === PULL_SOURCE);
  const notes: readonly NoteFact[] = [
    ...repairNotes(taken.repaired),
    ...(isPushed ? [{ code: "not-covered" as const, what: ["forge" as const] }] : []),
  ];
  const base = {
    about: "action" as const,
    action: direction,
    workspace,
    ...(notes.length > 0 && { notes }),
    done: done.map(({ job, changes, left, mergedBy, checked, rebuilt }) => ({
      jobId: job.jobId,
      changes,
      left,
      ...(mergedBy !== undefined && { mergedBy }),
      ...(checked !== undefined && { checked }),
      ...(rebuilt !== undefined && { rebuilt }),
    })),
    conflicts: [],
    failedCmds: 0,
  };
  switch (taken.status) {
    case "done": {
      const groups = new Set(done.map(({ job }) => job.groupId));
      const isGroup = done.length > 1 && groups.size === 1;
      const name = isGroup ? (done[0]?.job.groupId ?? "") : done.map(({ job }) => job.jobId).join(" ");
      const status = direction === "undo" ? "taken-back" : "applied";
      return { ...base, code: "done", name, status };
    }
    case "nothing":
      return { ...base, code: "nothing", name: "", status: "no-change" };
    case "unknown":
      return { ...base, code: "unknown-job", name: taken.name, status: null };
    case "conflict": {
      const { conflicts, job } = taken;
      const status = isHalfDone(conflicts, job.jobId) ? "interrupted" : "refused";
      const numbers = direction === "undo" ? numbersToUndo({ archive }, job.jobId) : [];
      const isTogether = numbers.length > 1 && numbers.length <= MOST_TOGETHER;
      return {
        ...base,
        code: "conflict",
        name: job.jobId,
        status,
        conflicts,
        ...(isTogether &&
          conflicts.every(({ by }) => by !== undefined && isJobId(by)) && { together: numbers }),
      };
    }
    case "refused": {
      const { job, reason, state, paths } = taken;
      const { pid } = job;
      const died = reason === "running" && !isAlive(job);
      return {
        ...base,
        code: died ? "died" : reason,
        name: job.jobId,
        status: "refused",
        state,
        ...(paths !== undefined && { paths }),
        ...(pid !== undefined && { pid }),
      };
    }
  }
}

export function previewFacts(
  { root: workspace }: Pick<Workspace, "root">,
  name: string,
  outcome: PreviewCommit,
): ActionFacts {
  const base = { ...about(workspace, name), action: "apply" } as const;
  switch (outcome.status) {
    case "done": {
      const { job, notes } = outcome;
      return { ...base, code: "done", ...applied(job), ...(notes.length > 0 && { notes }) };
    }
    case "unknown":
      return { ...base, code: "unknown-job", status: null };
    case "not-a-preview":
      return { ...base, code: "not-a-preview", status: "refused", state: outcome.job.state };
    case "busy":
      return { ...base, code: "busy", status: "refused" };
    case "unusable": {
      const { reason, paths } = outcome;
      return { ...base, code: reason, status: "refused", paths };
    }
    case "conflict": {
      const denied = outcome.conflicts.every(isSystemTrouble);
      const status = denied
        ? "refused"
        : isHalfDone(outcome.conflicts, outcome.job.jobId)
          ? "interrupted"
          : "preview";
      return { ...base, code: "conflict", status, conflicts: outcome.conflicts };
    }
  }
}

/** The common facts of every action that has no result yet. */
function about(workspace: string, name: string) {
  return { about: "action", workspace, name, conflicts: [], done: [], failedCmds: 0 } as const;
}

function applied({
  jobId,
  changes,
  failedCmds,
}: StoredJob): Pick<ActionFacts, "status" | "done" | "failedCmds"> {
  const status = changes.length === 0 ? "no-change" : failedCmds > 0 ? "partly" : "applied";
  return { status, failedCmds, done: [{ jobId, changes, left: [] }] };
}

/** `nothing`: there was none to choose. */
export function discardFacts(
  { root: workspace }: Pick<Workspace, "root">,
  name: string,
  { status }: PreviewDiscard | { readonly status: "nothing" },
): ActionFacts {
  const base = { ...about(workspace, name), action: "discard" } as const;
  switch (status) {
    case "done":
      return { ...base, code: "done", status: "discarded" };
    case "nothing":
      return { ...base, code: "nothing", status: "no-change" };
    case "unknown":
      return { ...base, code: "unknown-job", status: null };
    case "not-a-preview":
      return { ...base, code: "not-a-preview", status: "refused" };
  }
}

/** Facts about an order to another machine whose outcome is unknown, or which did nothing. */
export function orderFacts(
  action: ActionFacts["action"],
  name: string,
  {
    code,
    machine,
  }: { readonly code: "machine-away" | "machine-gone" | "unsettled"; readonly machine: string },
): ActionFacts {
  return {
    about: "action",
    action,
    code,
    status: code === "machine-away" ? "refused" : null,
    name,
    workspace: "",
    done: [],
    conflicts: [],
    failedCmds: 0,
    machine,
  };
}

export function stopFacts(
  { root: workspace }: Pick<Workspace, "root">,
  name: string,
  outcome: StopJobResult,
): ActionFacts {
  const base = {
    about: "action",
    action: "stop",
    workspace,
    name,
    conflicts: [],
    done: [],
    failedCmds: 0,
  } as const;
  switch (outcome.status) {
    case "stopped":
      return { ...base, code: "done", status: "stopped" };
    case "unknown":
      return { ...base, code: "unknown-job", status: null };
    case "not-running":
      return { ...base, code: "not-running", status: "refused", state: outcome.state };
  }
}

/** The outcome of an action on jobs: its status, the moved jobs, the conflicts, how to continue. */
export function wordAction(messages: Messages, facts: ActionFacts, at: Surface): string {
  const words = reportMessages(messages.locale);
  const { status, code, action, name } = facts;
  const first = status === null ? "" : words.status(status, facts.failedCmds);
  /** A terminal knows the jobs of its own machine alone; a chat reaches those of all. */
  const hint = (text: string) =>
    at === "terminal" && facts.machine !== undefined ? words.onMachine(text, facts.machine) : text;
  const notes = (facts.notes ?? []).map((note) => wordNote(messages, note)).join("\n");
  if (code !== "done") {
    const swappedBefore = facts.done.length > 0 ? wordDone(messages, facts) : "";
    const force =
      code === "conflict" &&
      action !== "apply" &&
      stuckJob(facts.conflicts) === null &&
      findKeptAside(facts.conflicts) === null &&
      facts.conflicts.some(canBeForced)
        ? hint(words.forceHint[at](action, name))
        : "";
    const together = facts.together === undefined ? "" : hint(words.togetherHint[at](facts.together));
    const lines = [first, wordReason(messages, facts, at), together, force].filter((line) => line !== "");
    return paragraphs([lines.join("\n"), swappedBefore, notes]);
  }
  switch (action) {
    case "stop":
      return `${first}\n${words.verb.stop(name)}`;
    // A user who discards a preview has stopped nothing.
    case "discard":
      return words.verb.discard(name);
    case "undo":
      return paragraphs([first, wordDone(messages, facts), notes, hint(words.redoHint[at](name))]);
    case "redo":
    case "apply":
      return paragraphs([first, wordDone(messages, facts), notes, hint(words.undoHint[at](name))]);
  }
}

/** Whether an undo or redo with force would continue: it passes no folder that is missing, unreadable or a link. */
function canBeForced({ reason }: Conflict): boolean {
  return reason === "changed" || reason === "exists" || reason === "missing" || reason === "open";
}

/** The swapped jobs, and the paths that they left alone on purpose. */
function wordDone(messages: Messages, { done, action }: ActionFacts): string {
  const { verb } = reportMessages(messages.locale);
  const lines = done.map(({ jobId }) => verb[action](jobId));
  const changes = changeLines(messages, seenFrom(action, done));
  if (changes !== "") lines.push(changes);
  for (const { jobId, left, mergedBy, checked, rebuilt } of done) {
    if (rebuilt !== undefined) lines.push(messages.recordRepaired(jobId, rebuilt));
    if (mergedBy !== undefined)
      lines.push(
        action === "redo" ? messages.redoneByMerge(jobId, mergedBy) : messages.undoneByMerge(jobId, mergedBy),
        checked?.[messages.locale] ?? messages.mergeNotChecked,
      );
    const of = (wanted: string) => left.filter(({ reason }) => reason === wanted).map(({ path }) => path);
    const refs = of("moved-on");
    if (refs.length > 0) lines.push(messages.undonePartly({ jobId, refs }));
    const kept = of("not-empty");
    if (kept.length > 0) lines.push(messages.foldersKept(kept));
    const lost = of("lost");
    if (lost.length > 0) lines.push(messages.undoRebuilt(lost));
  }
  return lines.join("\n");
}

const INVERSE = { added: "deleted", deleted: "added", modified: "modified" } as const;

/** Undoing an added file deletes it. The changes of several jobs to a path are one change, or none. */
function seenFrom(action: ActionFacts["action"], done: ActionFacts["done"]): Change[] {
  const seen = new Map<
    string,
    { readonly change: Change; readonly existedBefore: boolean; readonly existsNow: boolean }
  >();
  for (const one of done.flatMap(({ changes }) => changes)) {
    const kind = action === "undo" ? INVERSE[one.kind] : one.kind;
    const { existedBefore = kind !== "added" } = seen.get(one.path) ?? {};
    seen.set(one.path, { change: one, existedBefore, existsNow: kind !== "deleted" });
  }
  return [...seen.values()]
    .filter(({ existedBefore, existsNow }) => existedBefore || existsNow)
    .map(({ change, existedBefore, existsNow }) => ({
      ...change,
      kind: existedBefore && existsNow ? "modified" : existsNow ? "added" : "deleted",
    }));
}

function nothing(messages: Messages, action: ActionFacts["action"]): string {
  if (action === "discard") return messages.nothingToDiscard;
  return action === "redo" ? messages.nothingToRedo : messages.nothingToUndo;
}

/** The reason of a failure, without its status and without advice. */
export function wordReason(messages: Messages, facts: ActionFacts, at: Surface): string {
  const { code, action, name, conflicts, workspace } = facts;
  const words = reportMessages(messages.locale);
  switch (code) {
    case "nothing":
      return nothing(messages, action);
    case "unknown-job":
      return messages.unknownJob(name, at);
    case "conflict": {
      if (action === "apply" || stuckJob(conflicts) !== null || findKeptAside(conflicts) !== null)
        return describeConflicts(messages, name, conflicts, at);
      const paths = conflicts.map((conflict) => describeConflict(messages, conflict, at));
      if (conflicts.every(isSystemTrouble)) return words.outOfReach(action, name, paths);
      return words.inTheWay(action, name, paths);
    }
    case "busy":
      return messages.workspaceBusy(workspace);
    case "running":
      return messages.jobRunning(name, facts.pid ?? null, at);
    case "died":
      return messages.jobDied(name);
    case "evicted":
      return messages.undoUnavailable(name);
    case "not-undoable":
      return `${messages.undoUnavailable(name)} ${messages.shellNotUndoable}`;
    case "damaged":
      return messages.recordDamaged(name, facts.paths?.[0] ?? "");
    case "data-gone":
      return messages.undoDataGone(action, name, facts.paths ?? []);
    case "workspace-gone":
      return messages.workspaceMissing(workspace);
    case "wrong-state":
      if (facts.state === "staged") return messages.stillAPreview(name, at);
      return messages.wrongState(name, facts.state ?? "", at);
    case "not-a-preview":
      return messages.notAPreview(name);
    case "not-running":
      return messages.jobNotRunning(name);
    case "machine-away":
      return messages.machineAway(facts.machine ?? "");
    case "machine-gone":
      return messages.machineGone(facts.machine ?? "");
    case "unsettled":
      return messages.orderUnsettled(facts.machine ?? "");
    case "done":
      return "";
  }
}
