import {
  type Change,
  type Conflict,
  isHalfDone,
  isJobId,
  isSystemTrouble,
  type JobNumbers,
  type JobResult,
  type JobStatus,
  type NoteFact,
  nameByNumber,
  nameJob,
  toUndoState,
} from "../../domain/jobs/result.ts";
import { decodeUtf8 } from "../../domain/platform/file-bytes.ts";
import { type Messages, reportMessages } from "../../domain/texts/jobs.ts";
import {
  changeLines,
  describeConflict,
  describeConflicts,
  findKeptAside,
  type ShownAt,
  type Surface,
  stuckJob,
  wordNote,
} from "../../domain/texts/jobs-notes.ts";
import { paragraphs, type ResultJson } from "../../domain/texts/jobs-report.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { confinementMessages } from "../../domain/texts/policy.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";
import type { FileDifference, JobArchive, StoredJob } from "../ports/jobs.ts";
import { LimitReached, MemoryRanOut, type RepairedJob, type UnusableJob } from "../ports/jobs-transaction.ts";
import type {
  PreviewCommit,
  PreviewDiscard,
  StopJobResult,
  TakeBack,
  TakenBack,
  Workspace,
} from "../ports/jobs-workspace.ts";
import { conflictsOfStuck, repairNotes, resolveJobName, withNumbers } from "./job-facts.ts";
import { numbersToUndo } from "./undo-job.ts";

/** The outcome of undo, redo, applying or discarding a preview, or stopping a job: plain JSON, in no language. */
export interface ActionFacts {
  readonly about: "action";
  readonly action: "undo" | "redo" | "apply" | "discard" | "stop";
  readonly code: ActionCode;
  /** Null if there is no such job. */
  readonly status: JobStatus | null;
  /** The requested job or group; the blocking job if there is one. */
  readonly name: string;
  readonly numbers?: JobNumbers;
  readonly workspace: string;
  /** The swapped jobs, in this order; also those before a conflict. */
  readonly done: readonly SwappedJob[];
  readonly conflicts: readonly Conflict[];
  /** Numbers of the jobs to undo together if later ones block the undo, in that order. */
  readonly together?: readonly number[];
  /** Interrupted work that was finished before it, and hooks that failed after it. */
  readonly notes?: readonly NoteFact[];
  readonly state?: string;
  /** `damaged`, `closed`: the file of the record that cannot be read; `data-gone`: the paths without undo data. */
  readonly paths?: readonly string[];
  readonly pid?: number;
  /** The other machine that carried it out, or was asked to. */
  readonly machine?: string;
  /** Commands that failed in a preview which was applied nevertheless. */
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
  | UnusableJob
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

/** Jobs that one button undoes, or one order names. */
const MOST_TOGETHER = 8;

/** Jobs of one group as an order names them: many by their group. */
export function nameTogether(jobs: readonly StoredJob[]): string {
  return jobs.length > MOST_TOGETHER ? (jobs[0]?.groupId ?? "") : jobs.map(nameJob).join(" ");
}

export function takeBackFacts(
  workspace: Pick<Workspace, "root" | "isAlive" | "archive">,
  direction: "undo" | "redo",
  taken: TakeBack,
): ActionFacts {
  const { isAlive, archive } = workspace;
  const swapped = taken.status === "done" ? taken.jobs : "before" in taken ? taken.before : [];
  // A job whose files already had the wanted content swaps none of them.
  const changing = swapped.filter(
    ({ job, changes, left, rebuilt }) =>
      job.changes.length + changes.length + left.length > 0 || rebuilt !== undefined,
  );
  const isIdle = taken.status === "done" && changing.length === 0;
  const done = isIdle ? swapped : changing;
  const isPushed = direction === "undo" && done.some(({ job }) => job.source === PULL_SOURCE);
  const notes: readonly NoteFact[] = [
    ...repairNotes(taken.repaired),
    ...(isPushed ? [{ code: "not-covered" as const, what: ["forge" as const] }] : []),
  ];
  const moved = done.map(({ job: { jobId }, ...swap }) => ({ jobId, ...swap }));
  const base = { done: moved, ...(notes.length > 0 && { notes }) };
  const facts = (name: string, end: ActionEnd) =>
    toActionFacts(direction, workspace, name, { ...base, ...end });
  switch (taken.status) {
    case "done": {
      const groups = new Set(done.map(({ job }) => job.groupId));
      const isGroup = done.length > MOST_TOGETHER && groups.size === 1;
      const name = isGroup ? (done[0]?.job.groupId ?? "") : done.map(({ job }) => job.jobId).join(" ");
      const status = isIdle ? "no-change" : direction === "undo" ? "taken-back" : "applied";
      return facts(name, { code: "done", status });
    }
    case "nothing":
      return facts("", UNDONE_ORDERS.nothing);
    case "unknown":
      return facts(taken.name, UNDONE_ORDERS.unknown);
    case "conflict": {
      const { conflicts, job } = taken;
      const status = isHalfDone(conflicts, job.jobId) ? "interrupted" : "refused";
      const numbers = direction === "undo" ? numbersToUndo({ archive }, job.jobId) : [];
      const isTogether = numbers.length > 1 && numbers.length <= MOST_TOGETHER;
      const areAllJobs = conflicts.every(({ by }) => by !== undefined && isJobId(by));
      const together = isTogether && areAllJobs ? { together: numbers } : {};
      return facts(job.jobId, { code: "conflict", status, conflicts, ...together });
    }
    case "refused": {
      const { job, reason, state, paths } = taken;
      const { pid } = job;
      const died = reason === "running" && !isAlive(job);
      const known = { ...(paths !== undefined && { paths }), ...(pid !== undefined && { pid }) };
      return facts(job.jobId, { code: died ? "died" : reason, status: "refused", state, ...known });
    }
  }
}

type NamedWorkspace = Pick<Workspace, "root"> & { readonly archive: Pick<JobArchive, "numbers"> };

type ActionEnd = Pick<ActionFacts, "code" | "status"> & Partial<ActionFacts>;

/** An order about one job that changed nothing. */
const UNDONE_ORDERS = {
  nothing: { code: "nothing", status: "no-change" },
  unknown: { code: "unknown-job", status: null },
  busy: { code: "busy", status: "refused" },
  "not-a-preview": { code: "not-a-preview", status: "refused" },
  "not-running": { code: "not-running", status: "refused" },
} as const;

export function previewFacts(workspace: NamedWorkspace, name: string, outcome: PreviewCommit): ActionFacts {
  return toActionFacts("apply", workspace, name, toPreviewEnd(outcome));
}

function toPreviewEnd(outcome: PreviewCommit): ActionEnd {
  switch (outcome.status) {
    case "done": {
      const { jobId, changes, failedCmds } = outcome.job;
      const status = changes.length === 0 ? "no-change" : failedCmds > 0 ? "partly" : "applied";
      const notes = outcome.notes.length > 0 ? { notes: outcome.notes } : {};
      return { code: "done", status, failedCmds, done: [{ jobId, changes, left: [] }], ...notes };
    }
    case "not-a-preview":
      return { ...UNDONE_ORDERS["not-a-preview"], state: outcome.job.state };
    case "unusable":
      return { code: outcome.reason, status: "refused", paths: outcome.paths };
    case "conflict": {
      const { conflicts, job } = outcome;
      const kept = isHalfDone(conflicts, job.jobId) ? "interrupted" : "preview";
      const status = conflicts.every(isSystemTrouble) ? "refused" : kept;
      return { code: "conflict", status, conflicts };
    }
    default:
      return UNDONE_ORDERS[outcome.status];
  }
}

function toActionFacts(
  action: ActionFacts["action"],
  { root: workspace, archive }: NamedWorkspace,
  name: string,
  end: ActionEnd,
): ActionFacts {
  const none = { conflicts: [], done: [], failedCmds: 0 };
  return withNumbers(archive, { about: "action", action, workspace, name, ...none, ...end });
}

/** `nothing`: no job could be chosen. */
export function discardFacts(
  workspace: NamedWorkspace,
  name: string,
  { status }: PreviewDiscard | { readonly status: "nothing" },
): ActionFacts {
  const end: ActionEnd = status === "done" ? { code: "done", status: "discarded" } : UNDONE_ORDERS[status];
  return toActionFacts("discard", workspace, name, end);
}

/** Facts about an order to another machine whose outcome is unknown, or which did nothing. */
export function orderFacts(
  action: ActionFacts["action"],
  name: string,
  order: { readonly code: "machine-away" | "machine-gone" | "unsettled"; readonly machine: string },
): ActionFacts {
  const status = order.code === "machine-away" ? "refused" : null;
  const nowhere = { root: "", archive: { numbers: () => new Map() } };
  return toActionFacts(action, nowhere, name, { ...order, status });
}

export function stopFacts(workspace: NamedWorkspace, name: string, outcome: StopJobResult): ActionFacts {
  const { status } = outcome;
  const end: ActionEnd = status === "stopped" ? { code: "done", status } : UNDONE_ORDERS[status];
  return toActionFacts("stop", workspace, name, "state" in outcome ? { ...end, state: outcome.state } : end);
}

/** The outcome of an action on jobs: its status, the moved jobs, the conflicts, how to continue; in the console, buttons say how. */
export function wordAction(messages: Messages, ofAction: ActionFacts, shownAt: ShownAt): string {
  const at = shownAt === "console" ? "chat" : shownAt;
  const facts = nameAt(ofAction, at);
  const words = reportMessages(messages.locale);
  const { status, code, action, name } = facts;
  const first = status === null ? "" : words.status(status, facts.failedCmds);
  /** A terminal reaches only the jobs of its own machine; a chat reaches all. */
  const hint = (text: string) => {
    if (shownAt === "console") return "";
    return at === "terminal" && facts.machine !== undefined ? words.onMachine(text, facts.machine) : text;
  };
  const notes = (facts.notes ?? []).map((note) => wordNote(messages, note)).join("\n");
  if (code !== "done") {
    const swappedBefore = facts.done.length > 0 ? wordDone(messages, facts) : "";
    const force =
      code === "conflict" &&
      (action === "undo" || action === "redo") &&
      stuckJob(facts.conflicts) === null &&
      findKeptAside(facts.conflicts) === null &&
      facts.conflicts.some(({ reason }) => FORCED.includes(reason))
        ? hint(words.forceHint(at, action, name))
        : "";
    const isNamed = facts.together !== undefined && (at === "terminal" || facts.machine === undefined);
    const together = isNamed ? hint(words.togetherHint(at, facts.together)) : "";
    const back = code === "wrong-state" ? BACK[facts.state ?? ""] : undefined;
    const other = back === undefined ? "" : hint(words.swapHint(at, back, name));
    const lines = [first, wordReason(messages, facts, at), together, force, other];
    return paragraphs([lines.filter((line) => line !== "").join("\n"), swappedBefore, notes]);
  }
  if (status === "no-change" && action !== "apply")
    return paragraphs([`${first}\n${messages.changedNothing(name)}`, notes]);
  switch (action) {
    case "stop":
      return `${first}\n${words.verb.stop(name)}`;
    // Discarding a preview stops nothing.
    case "discard":
      return words.verb.discard(name);
    case "undo":
      return paragraphs([first, wordDone(messages, facts), notes, hint(words.swapHint(at, "redo", name))]);
    case "redo":
    case "apply":
      return paragraphs([first, wordDone(messages, facts), notes, hint(words.swapHint(at, "undo", name))]);
  }
}

/** The hint for a job that is already in the wanted state, by that state. */
const BACK: Readonly<Record<string, "redo" | "undo">> = { undone: "redo", committed: "undo" };

/** In a chat, the number of another machine's job could mean one of this machine's: it is named by its id. */
function nameAt(facts: ActionFacts, at: Surface): ActionFacts {
  return at === "chat" && facts.machine !== undefined ? facts : nameByNumber(facts);
}

/** Conflicts that force overrides in an undo or redo: not a folder that is missing, unreadable or a link. */
const FORCED: readonly string[] = ["changed", "exists", "missing", "open"];

/** The swapped jobs, and the paths that were skipped on purpose. */
function wordDone(messages: Messages, { done, action }: ActionFacts): string {
  const { verb } = reportMessages(messages.locale);
  const lines = done.map(({ jobId }) => verb[action](jobId));
  const changes = changeLines(messages, seenFrom(action, done));
  if (changes !== "") lines.push(changes);
  for (const { jobId, left, mergedBy, checked, rebuilt } of done) {
    if (rebuilt !== undefined) lines.push(messages.recordRepaired(jobId, rebuilt));
    if (mergedBy !== undefined)
      lines.push(
        messages.mergedBy(action === "redo" ? "redo" : "undo", jobId, mergedBy),
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

export function wordReason(messages: Messages, ofAction: ActionFacts, at: Surface): string {
  const facts = nameAt(ofAction, at);
  const { code, action, name, conflicts, workspace } = facts;
  const words = reportMessages(messages.locale);
  switch (code) {
    case "nothing":
      if (action === "discard") return messages.nothingToDiscard;
      return action === "redo" ? messages.nothingToRedo : messages.nothingToUndo;
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
    case "closed":
      return messages.recordClosed(name, facts.paths?.[0] ?? "");
    case "newer":
      return messages.undoDamaged(name, facts.paths?.[0] ?? "", "newer");
    case "data-gone":
      return messages.undoDataGone(action, name, facts.paths ?? []);
    case "workspace-gone":
      return messages.workspaceMissing(workspace);
    case "wrong-state":
      if (facts.state === "staged") return messages.stillAPreview(name, at);
      return messages.wrongState(name, facts.state ?? "");
    case "not-a-preview":
      return facts.state === "committed" ? messages.alreadyApplied(name) : messages.notAPreview(name);
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

type Archive = Pick<JobArchive, "read" | "list">;

/** The job of that id or number, or the jobs of that group, oldest first. */
export function jobsNamed(archive: Archive, name: string): StoredJob[] {
  const jobId = resolveJobName({ archive }, name);
  if (isJobId(jobId)) return readJobs(archive, [jobId]);
  return archive.list(undefined, (groupId) => groupId === name);
}

export function actionsFor(archive: Archive, name: string, labels: JobActionLabels): JobAction[] {
  return jobActions(jobsNamed(archive, name), labels);
}

/** The buttons of a stored reply: those about jobs follow the jobs' current state. */
export function presentActions(
  archive: Archive,
  reply: { readonly actions: readonly JobAction[]; readonly jobs: readonly Pick<ResultJson, "job_id">[] },
  labels: JobActionLabels,
): JobAction[] {
  const drawn = new Set<string>();
  return reply.actions.flatMap((action) => {
    const name = jobNamedInButton(action.message);
    if (name === null) return [action];
    if (drawn.has(name)) return [];
    drawn.add(name);
    if (name !== "") return actionsFor(archive, name, labels);
    const own = reply.jobs.map(({ job_id }) => job_id);
    return storedJobActions(archive, own, labels);
  });
}

export function storedJobActions(
  archive: Pick<Archive, "read">,
  jobIds: readonly string[],
  labels: JobActionLabels,
): JobAction[] {
  return jobActions(readJobs(archive, jobIds), labels);
}

function readJobs(archive: Pick<Archive, "read">, jobIds: readonly string[]): StoredJob[] {
  return jobIds.map((id) => archive.read(id)).filter((job) => job !== null);
}

export type ApplyRestResult =
  /** There was no conflict left, or the preview cannot be applied: the outcome of the whole preview. */
  | { readonly status: "whole"; readonly outcome: PreviewCommit }
  | {
      readonly status: "ran";
      readonly result: JobResult;
      /** Paths of the preview that were left out, in conflict or not a text. */
      readonly left: readonly string[];
    };

/** Applies a preview without the paths in conflict, as a job of its own that can be undone; then the preview is discarded. */
export async function applyRest(
  workspace: Pick<Workspace, "archive" | "execute" | "commitPreview" | "discardPreview">,
  jobId: string,
  signal: AbortSignal,
): Promise<ApplyRestResult> {
  const outcome = await workspace.commitPreview(jobId);
  if (outcome.status !== "conflict") return { status: "whole", outcome };
  const { job, conflicts } = outcome;
  const isInTheWay = (path: string) =>
    conflicts.some(
      (one) => path === one.path || path.startsWith(`${one.path}/`) || one.path.startsWith(`${path}/`),
    );
  const files = workspace.archive.differences(jobId).filter(({ path }) => !isInTheWay(path));
  const commands = files.flatMap(toRestEdits);
  const written = new Set(commands.map(({ target }) => target));
  // A file creates the folders above it.
  const isWritten = (path: string) =>
    written.has(path) || [...written].some((one) => one.startsWith(`${path}/`));
  const left = job.changes.map(({ path }) => path).filter((path) => !isWritten(path));
  if (commands.length === 0) return { status: "whole", outcome };
  const result = await workspace.execute({
    plan: job.title,
    source: job.source,
    startedBy: "user",
    groupId: job.groupId,
    ...(job.request !== undefined && { request: job.request }),
    patch: JSON.stringify(commands),
    atomic: true,
    signal,
  });
  if (result.about === "job" && result.outcome === "committed") await workspace.discardPreview(jobId);
  return { status: "ran", result, left };
}

interface RestEdit {
  readonly type: "file_edit";
  readonly action: "create" | "update" | "delete";
  readonly target: string;
  readonly content?: string;
}

function toRestEdits({ path, before, after }: FileDifference): RestEdit[] {
  if (before === undefined || after === undefined || path.startsWith(".git/")) return [];
  if (after === null) return [{ type: "file_edit", action: "delete", target: path }];
  const content = decodeUtf8(after);
  if (content === null) return [];
  return [{ type: "file_edit", action: before === null ? "create" : "update", target: path, content }];
}

export interface TakeBackStep {
  readonly direction: "undo" | "redo";
  readonly job: StoredJob;
}

/** A button under a reply, and the message that pressing it sends. */
export interface JobAction {
  readonly label: string;
  /** For readers of each language; buttons about jobs are rebuilt instead. */
  readonly labels?: WordsByLocale;
  readonly message: string;
}

export interface JobActionLabels {
  readonly undo: string;
  readonly redo: string;
  readonly apply: string;
  readonly diff: string;
  readonly discard: string;
}

export interface ActionJob {
  readonly jobId: string;
  readonly groupId: string;
  readonly state: string;
  readonly kind: string;
  readonly changes: readonly unknown[];
}

/** The possible actions on one message's jobs. A button names the job where one changed something, their group where several did. */
export function jobActions(jobs: readonly ActionJob[], labels: JobActionLabels): JobAction[] {
  const preview = jobs.find(({ state }) => state === "staged");
  if (preview !== undefined)
    return [
      { label: labels.apply, message: `/apply ${preview.jobId}` },
      { label: labels.diff, message: `/diff ${preview.jobId}` },
      { label: labels.discard, message: `/discard ${preview.jobId}` },
    ];
  const kept = jobs.filter(({ state, kind, changes }) => {
    const undo = toUndoState({ state, kind, changeCount: changes.length });
    return undo === "available" || undo === "undone";
  });
  const [first] = kept;
  if (first === undefined) return [];
  const name = kept.length === 1 ? first.jobId : first.groupId;
  if (kept.every(({ state }) => state === "undone"))
    return [{ label: labels.redo, message: `/redo ${name}` }];
  return [
    { label: labels.undo, message: `/undo ${name}` },
    { label: labels.diff, message: `/diff ${name}` },
  ];
}

/** The job or group that a button names: "" for one of an older version, which named none; null for other buttons. */
export function jobNamedInButton(message: string): string | null {
  return /^\/(?:undo|redo|apply|diff|discard)(?: +(\S+))?$/.exec(message)?.slice(1).join("") ?? null;
}

export function wordRepair(
  messages: Messages,
  archive: Pick<JobArchive, "numbers">,
  interrupted: RepairedJob,
): string {
  const repaired = nameByNumber(withNumbers(archive, interrupted));
  return repaired.outcome === "stuck"
    ? describeConflicts(messages, repaired.jobId, conflictsOfStuck(repaired), "terminal")
    : repairNotes(repaired)
        .map((note) => wordNote(messages, note))
        .join("\n");
}

/** Why a job was ended that exceeded its resources; null for any other cause. */
export function wordUsedUp(locale: Locale, cause: unknown): string | null {
  const said = confinementMessages(locale);
  if (cause instanceof MemoryRanOut) return said.memoryRanOut;
  if (!(cause instanceof LimitReached)) return null;
  const { reached } = cause;
  switch (reached.what) {
    case "processes":
      return said.processesReached(reached.most, reached.configured);
    case "no-processes":
      return said.noProcessesLeft(reached.left);
    case "changes":
    case "home":
      return said.diskReached(reached.what, reached.taken, reached.most);
  }
}
