import {
  type CommandResult,
  type Conflict,
  changedFiles,
  countFiles,
  isOfInterrupted,
  type JobNumbers,
  type NoteFact,
  nameJob,
  type RanJob,
  renameJobs,
  toFigures,
  toJobStatus,
  toUndoState,
} from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { createPause } from "../platform/give-way.ts";
import type {
  FileDifference,
  IndexedJob,
  JobArchive,
  JobEvent,
  JobRecord,
  JournalLine,
  StoredJob,
} from "../ports/jobs.ts";
import type { JobState, RepairedJob } from "../ports/jobs-transaction.ts";
import type { TakeBack, TakeBackRequest } from "../ports/jobs-workspace.ts";

/** The journal with each command's result as the last judgement left it: a command can fail after it has finished. */
export function validatedJournal(lines: readonly JournalLine[]): JournalLine[] {
  const judged: JournalLine[] = [];
  for (const line of lines) {
    const { event } = line;
    if (event.type !== "command_judged") {
      judged.push(line);
      continue;
    }
    const at = judged.findLastIndex((one) => isFinished(one.event) && one.event.index === event.index);
    const finished = judged[at];
    if (finished === undefined || !isFinished(finished.event)) continue;
    const { success, error } = event;
    judged[at] = { ...finished, event: { ...finished.event, success, error } };
  }
  return judged;
}

export function isFinished(event: JobEvent): event is Extract<JobEvent, { type: "command_finished" }> {
  return event.type === "command_finished";
}

/** The current result of an earlier job. `alive`: its process is still working on it. */
export function storedFacts(job: StoredJob, journal: readonly JournalLine[], alive: boolean): RanJob {
  const quota = journal.findLast(({ event }) => event.type === "quota_evicted")?.event;
  const standing = { ...job, changeCount: job.changes.length };
  return {
    about: "job",
    status: toJobStatus(standing, alive),
    ...toFigures(job),
    ...(job.number !== undefined && { numbers: { [job.jobId]: job.number } }),
    outcome: job.outcome,
    dryRun: false,
    commands: toCommandFacts(journal),
    undo: toUndoState(standing),
    notes: [...job.notes, ...notesOfInterruptions(job)],
    conflicts: [],
    evicted:
      quota?.type === "quota_evicted" ? quota.jobs.map(({ job_id: jobId, bytes }) => ({ jobId, bytes })) : [],
    quotaBytes: quota?.type === "quota_evicted" ? quota.quota_bytes : 0,
    ended: [],
    outside: [],
  };
}

function toCommandFacts(journal: readonly JournalLine[]): CommandResult[] {
  const started = new Map<number, PatchCommand>();
  const commands: CommandResult[] = [];
  for (const { event } of validatedJournal(journal)) {
    if (event.type === "command_started") started.set(event.index, event.command);
    if (event.type !== "command_finished") continue;
    const command = started.get(event.index);
    if (command === undefined) continue;
    const { success, output, error, duration, changes, notes } = event;
    commands.push({ command, success, output, error, duration, changes, notes });
  }
  return commands;
}

/** A job as a list needs it; its changes are known only if it was read from its own folder. */
export type ListedJob = IndexedJob & Partial<Pick<StoredJob, "changes">>;

export function toListedJob(job: StoredJob): ListedJob {
  return { ...job, changeCount: countFiles(job.changes) };
}

export function agentId(jobId: string, number: number): string {
  return `${jobId}/${number}`;
}

export function readAgentId(id: string): { readonly jobId: string; readonly number: number } | null {
  const [, jobId = "", number = ""] = /^([^/]+)\/(\d{1,4})$/.exec(id) ?? [];
  return jobId === "" ? null : { jobId, number: Number(number) };
}

const AGENT_SOURCE = "agent:";

export function agentSource(jobId: string, number: number): string {
  return `${AGENT_SOURCE}${agentId(jobId, number)}`;
}

/** The stored part of a job: the record without facts that its folder provides. */
export function toJobRecord(job: StoredJob): JobRecord {
  const {
    state,
    stateAt,
    moved,
    number,
    bytes,
    damaged,
    closed,
    unsettled,
    interruptions,
    standsRepaired,
    ...record
  } = job;
  return record;
}

export function movedLater(one: StoredJob, other: StoredJob): boolean {
  return one.moved !== undefined && other.moved !== undefined
    ? one.moved > other.moved
    : one.stateAt > other.stateAt;
}

/** Not the draft of a sub-agent, whose work is the coder's job: lists leave it out, and its id still finds it. */
export function isOwnJob({ source }: Pick<ListedJob, "source">): boolean {
  return !source.startsWith(AGENT_SOURCE);
}

/** The reason in a record: the start of its first line. A command may have printed megabytes; the journal keeps them. */
export function endReason(text: string): Pick<JobRecord, "reason"> {
  const reason = [...(text.slice(0, 4_000).trim().split("\n")[0] as string)].slice(0, 200).join("").trimEnd();
  return reason === "" ? {} : { reason };
}

/** Why nothing of a job is in effect, or why it waits. A record of an earlier version has no reason; its journal has. */
export function toEndReason({ state, reason, red }: Partial<StoredJob>, story: readonly JournalLine[] = []) {
  if (state !== "discarded") return state === "staged" ? red : undefined;
  const end = reason ? undefined : story.findLast(({ event }) => event.type === "rolled_back")?.event;
  return end?.type === "rolled_back" ? endReason(end.reason).reason : reason || undefined;
}

/** A job in a list as programs read it: snake_case. `alive`: its process still works on it. */
export function toJobJson(job: ListedJob, alive: boolean): Record<string, unknown> {
  const reason = toEndReason(job);
  return {
    job_id: job.jobId,
    ...(job.number !== undefined && { number: job.number }),
    group_id: job.groupId,
    workspace: job.workspace,
    created_at: job.createdAt,
    finished_at: job.finishedAt,
    title: job.title,
    ...(job.request !== undefined && { request: job.request }),
    source: job.source,
    kind: job.kind,
    state: job.state,
    status: toJobStatus(job, alive),
    outcome: job.outcome,
    ...(reason !== undefined && { reason }),
    success: job.success,
    total_cmds: job.totalCmds,
    executed_cmds: job.executedCmds,
    failed_cmds: job.failedCmds,
    ...(job.gitCommit !== undefined && { git_commit: job.gitCommit }),
    change_count: job.changeCount,
    ...(job.changes !== undefined && { changes: changedFiles(job.changes) }),
    bytes: job.bytes,
    ...(job.damaged !== undefined && (job.closed ? { closed: job.closed } : { damaged: job.damaged })),
    ...(job.interruptions !== undefined && { interruptions: job.interruptions }),
    undo: toUndoState(job),
  };
}

export interface DiffLimits {
  /** Both sides of one file; a longer one is named. */
  readonly fileBytes: number;
  readonly fileLines: number;
  /** The whole text; files beyond it are named. */
  readonly textBytes: number;
}

/** A user waits for it in a chat, at a page or in a program, beside others that this process serves. */
const SHOWN: DiffLimits = { fileBytes: 2 * 1024 ** 2, fileLines: 40_000, textBytes: 8 * 1024 ** 2 };
export const WHOLE_DIFF: DiffLimits = { fileBytes: Infinity, fileLines: Infinity, textBytes: Infinity };

/** Unified diffs of text files; others are named with their size. Other requests are served between files. */
export async function diffText(
  differences: Iterable<FileDifference>,
  limits: DiffLimits = SHOWN,
): Promise<string> {
  const { toHunks, splitLines, isBinaryContent, modeLines, writeFileName } = await import(
    "../../domain/patch/compare-lines.ts"
  );
  const pause = createPause();
  let text = "";
  for (const { path, before, after, isLink, modes } of differences) {
    if (modes !== undefined) {
      text += `diff --git ${writeFileName(`a/${path}`)} ${writeFileName(`b/${path}`)}\n`;
      text += `${modeLines(modes).join("\n")}\n`;
      if (before?.length === 0 && after?.length === 0) continue;
    }
    const bytes = (before?.length ?? 0) + (after?.length ?? 0);
    await pause(bytes);
    if (before === undefined || after === undefined) {
      text += `# ${writeFileName(path)}: ${isLink ? "symbolic link" : "changed again since; no longer known"}\n`;
      continue;
    }
    if ([before, after].some((side) => side !== null && isBinaryContent(side))) {
      text += `# ${writeFileName(path)}: binary file, ${(after ?? before ?? "").length} bytes${after === null ? ", deleted" : ""}\n`;
      continue;
    }
    if (
      bytes > limits.fileBytes ||
      text.length + bytes > limits.textBytes ||
      countLineEnds(before) + countLineEnds(after) > limits.fileLines
    ) {
      text += `# ${writeFileName(path)}: too large to show (${before?.length ?? 0} bytes before, ${after?.length ?? 0} after)\n`;
      continue;
    }
    text += `--- ${before === null ? "/dev/null" : writeFileName(`a/${path}`)}\n`;
    text += `+++ ${after === null ? "/dev/null" : writeFileName(`b/${path}`)}\n`;
    const sides = [splitLines(decode(before)), splitLines(decode(after))] as const;
    await pause(bytes);
    const hunks = toHunks(...sides);
    await pause(bytes);
    for (const { oldStart, oldCount, newStart, newCount, lines } of hunks)
      text += `@@ -${oldStart},${oldCount} +${newStart},${newCount} @@\n${lines.join("\n")}\n`;
  }
  return text;
}

export function countLineEnds(bytes: Uint8Array | null): number {
  let count = 0;
  for (let at = bytes?.indexOf(10) ?? -1; at !== -1; at = bytes?.indexOf(10, at + 1) ?? -1) count += 1;
  return count;
}

function decode(bytes: Uint8Array | null): string {
  return bytes === null ? "" : Buffer.from(bytes).toString("utf8");
}

/** The jobs a request means, in the order of their swaps. A closed one among or after them is returned alone, to be refused. */
export function chooseJobs(
  { archive }: { readonly archive: Pick<JobArchive, "list"> },
  request: TakeBackRequest,
): readonly StoredJob[] | "nothing" | "unknown" {
  const jobs = archive.list();
  const chosen = chooseAmong(jobs, request);
  if (chosen === "unknown" || (chosen === "nothing" && request.name !== undefined)) return chosen;
  const closed = jobs.findLast(
    (one, place) =>
      one.closed !== undefined &&
      (chosen === "nothing" || chosen.some((job) => place >= jobs.indexOf(job) || movedLater(one, job))),
  );
  return closed === undefined ? chosen : [closed];
}

function chooseAmong(
  jobs: readonly StoredJob[],
  { direction, name }: TakeBackRequest,
): readonly StoredJob[] | "nothing" | "unknown" {
  const wanted: JobState = direction === "undo" ? "committed" : "undone";
  if (name === undefined) {
    const last = findLastChange(jobs, direction);
    return last === undefined ? "nothing" : [last];
  }
  const names = name.split(/[\s,]+/).filter((one) => one !== "");
  if (names.length > 1) return chooseSeveral(jobs, names, direction);
  const exact = findNamedJob(jobs, name);
  if (exact !== undefined) return [exact];
  const group = jobs.filter((job) => job.groupId === name && job.state === wanted);
  if (group.length > 0) return direction === "undo" ? group.reverse() : group;
  return jobs.some((job) => job.groupId === name) ? "nothing" : "unknown";
}

/** The newest change in effect (for undo), or the change that was undone last (for redo). */
export function findLastChange(jobs: readonly StoredJob[], direction: "undo" | "redo") {
  const state = direction === "undo" ? "committed" : "undone";
  const ready = jobs.filter(
    (job) =>
      job.state === state && job.changes.length > 0 && job.kind !== "none" && job.reverses === undefined,
  );
  if (direction === "redo") ready.sort((x, y) => (movedLater(x, y) ? 1 : -1));
  return ready.at(-1);
}

/** Several jobs by name: undone newest first, redone oldest first. */
function chooseSeveral(
  jobs: readonly StoredJob[],
  names: readonly string[],
  direction: TakeBackRequest["direction"],
): StoredJob[] | "unknown" {
  const found = names.map((name) => findNamedJob(jobs, name));
  if (found.includes(undefined)) return "unknown";
  const order = [...new Set(found as StoredJob[])].sort((x, y) => jobs.indexOf(x) - jobs.indexOf(y));
  return direction === "undo" ? order.reverse() : order;
}

/** The only waiting preview, which need not be named; the names of several. Undefined: there is none. */
export function waitingPreview(
  jobs: readonly StoredJob[],
): StoredJob | { readonly several: readonly string[] } | undefined {
  const waiting = jobs.filter(({ state, unsettled }) => state === "staged" && unsettled === undefined);
  return waiting.length > 1 ? { several: waiting.map(nameJob) } : waiting[0];
}

/** An interrupted swap that cannot be finished conflicts with every other. */
export function stuckTakeBack(
  archive: Pick<JobArchive, "read">,
  repaired: RepairedJob | null,
): TakeBack | null {
  if (repaired?.outcome !== "stuck") return null;
  const job = archive.read(repaired.jobId);
  return job === null
    ? null
    : { status: "conflict", job, conflicts: conflictsOfStuck(repaired), before: [], repaired };
}

/** `#12` or `12`: the twelfth job of a workspace, as people say it. */
function readJobNumber(name: string): number | null {
  const number = /^#?([1-9]\d{0,6})$/.exec(name)?.[1];
  return number === undefined ? null : Number(number);
}

export function nameJobId(archive: Pick<JobArchive, "numbers">, jobId: string): string {
  return nameJob({ jobId, number: archive.numbers().get(jobId) });
}

/** The facts with the numbers of the jobs in them, so that they can be worded later and on another machine. */
export function withNumbers<Facts extends object>(
  archive: Pick<JobArchive, "numbers">,
  facts: Facts,
): Facts & { readonly numbers?: JobNumbers } {
  const named: string[] = [];
  renameJobs(facts, (jobId) => {
    named.push(jobId);
    return jobId;
  });
  const numbers = numbersOf(archive, named);
  return Object.keys(numbers).length === 0 ? facts : { ...facts, numbers };
}

export function numbersOf(archive: Pick<JobArchive, "numbers">, jobIds: readonly string[]): JobNumbers {
  const all = archive.numbers();
  return Object.fromEntries(
    jobIds.flatMap((jobId) => (all.has(jobId) ? [[jobId, all.get(jobId) ?? 0]] : [])),
  );
}

/** The id of the job that a person names by its number, or of its sub-agent (`4/1`); any other name as it is. */
export function resolveJobName(
  { archive }: { readonly archive: Pick<JobArchive, "list"> },
  name: string,
): string {
  const [job = "", ...agent] = name.split("/");
  const number = readJobNumber(job);
  const found = number === null ? undefined : findNamedJob(archive.list(), job);
  return found === undefined ? name : [found.jobId, ...agent].join("/");
}

function findNamedJob(jobs: readonly StoredJob[], name: string): StoredJob | undefined {
  const number = readJobNumber(name);
  return jobs.find((job) => (number === null ? job.jobId === name : job.number === number));
}

/** The notes for the next caller after an interrupted swap. A stuck swap is reported as a conflict. */
export function repairNotes(repaired: RepairedJob | null | undefined): NoteFact[] {
  if (!repaired || repaired.outcome === "stuck") return [];
  const { jobId, direction, outcome, left, aside } = repaired;
  return [{ code: "repaired", jobId, direction, outcome, paths: left, ...(aside && { aside }) }];
}

/** The job's own notes on swaps that were interrupted and repaired. */
export function notesOfInterruptions({ jobId, interruptions = [] }: StoredJob): NoteFact[] {
  return interruptions.flatMap(({ direction, outcome, left, aside }) =>
    outcome === "open"
      ? []
      : [{ code: "repaired", jobId, direction, outcome, paths: left, ...(aside && { aside }) } as const],
  );
}

/** An earlier job conflicts with every other until it is repaired. */
export function conflictsOfStuck({ conflicts, jobId }: RepairedJob): Conflict[] {
  return conflicts.map(({ path, reason }) => ({
    path,
    reason: isOfInterrupted(reason) ? reason : "interrupted",
    by: jobId,
  }));
}

/** One whose commit never began died on its way there. */
export function interruptedDirection({ interruptions = [] }: StoredJob) {
  return interruptions.find(({ outcome }) => outcome === "open")?.direction ?? "commit";
}
