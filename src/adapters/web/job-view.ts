import { type CardPieces, type CommandWords, wordCard } from "../../application/chat/reply-words.ts";
import type { ViewedJob } from "../../application/fleet/viewer-jobs.ts";
import { wordCheck } from "../../application/history/word-why.ts";
import { type ActionFacts, wordAction } from "../../application/jobs/action-report.ts";
import { toListedJob, validatedJournal } from "../../application/jobs/job-facts.ts";
import type { Reply } from "../../application/ports/chat.ts";
import type { JobEvent, JournalLine } from "../../application/ports/jobs.ts";
import type { Viewer } from "../../application/serve/access.ts";
import { nameCheck } from "../../domain/checks/findings.ts";
import { readKeptCounts } from "../../domain/checks/read-results.ts";
import {
  type Change,
  countFiles,
  type JobStatus,
  toJobStatus,
  toUndoState,
  type UndoState,
} from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import { wordNote } from "../../domain/texts/jobs-notes.ts";
import { withoutOutput, wordError, wordEviction, wordStatus } from "../../domain/texts/jobs-report.ts";
import type { ConsoleMessages } from "../../domain/texts/web.ts";
import type { WebHost } from "./host.ts";
import { markdown } from "./markdown.ts";
import { duration, html, ICONS, type Markup, moment, type Piece, visible, visiblePath } from "./markup.ts";
import type { PageContext } from "./page-context.ts";

/** The first line of the plan or the patch, without the marks of a heading. */
export function jobTitle({ job }: ViewedJob): string {
  return visible(job.title.replace(/^#+\s+/, ""));
}

function viewedStatus({ job, alive }: ViewedJob): JobStatus {
  return toJobStatus(toListedJob(job), alive);
}

export function viewedUndo({ job }: ViewedJob): UndoState {
  return toUndoState(toListedJob(job));
}

/** How much a job did and changed; of another machine's job the first changes only may be known here. */
export function jobFigures(t: PageContext["t"], { job, changeCount }: ViewedJob): string {
  const known = countFiles(job.changes);
  const changes = changeCount === undefined ? t.changeCount(known) : t.changeCountOf(known, changeCount);
  return [job.totalCmds > 0 && t.commandCount(job.totalCmds), (changeCount ?? known) > 0 && changes]
    .filter(Boolean)
    .join(" · ");
}

/** The outcome of a job, as a coloured mark. */
export function statusMark({ words }: PageContext, viewed: ViewedJob): Markup {
  const status = viewedStatus(viewed);
  const { failedCmds } = viewed.job;
  return html`<span class="state ${status}">${wordStatus(words, { status, failedCmds })}</span>`;
}

/** The machine that carried out a job, marked if it does not answer. */
export function machineName(t: PageContext["t"], { name, here }: NonNullable<ViewedJob["machine"]>): string {
  return here ? visible(name) : t.machineAway(visible(name));
}

export interface JobCard {
  readonly jobId: string;
  /** As it is by now; null where it is gone. */
  readonly viewed: ViewedJob | null;
  /** The reply's facts about it. */
  readonly result: Pick<Reply["jobs"][number], "number" | "status" | "success" | "failed_cmds" | "changes">;
  /** The request, for a job of an older version. */
  readonly request: string;
  readonly plan: string;
  /** Absent for a job of a tool, which has no more to say. */
  readonly pieces?: CardPieces;
  readonly buttons: Piece;
}

/** One job in a chat: what was asked, what became of it, its files with their differences, what failed. */
export function jobCard(context: PageContext, card: JobCard): Markup {
  const { t, words } = context;
  const status = statusOfCard(card);
  const said = card.pieces === undefined ? null : wordCard(t.locale, card.pieces);
  const attempts = card.pieces?.coder?.attempts ?? 1;
  const title = card.viewed?.job.title || firstLine(card.request) || t.untitled;
  const failedCmds = card.viewed?.job.failedCmds ?? card.result.failed_cmds;
  return html`<section class="job-card ${statusTone(status)}" aria-label="${visible(title)}">
<header><span class="state ${status}">${wordStatus(words, { status, failedCmds })}</span><a class="title" href="/jobs/${encodeURIComponent(card.jobId)}">${card.result.number !== undefined && html`<span class="meta">#${card.result.number}</span> `}${visible(title)}</a>${said !== null && said.caveats.length > 0 && caveats(context, said.caveats)}</header>
${(attempts > 1 || (said !== null && said.checks !== "")) && html`<p class="meta">${[attempts > 1 && t.attempts(attempts), said?.checks].filter(Boolean).join(" · ")}</p>`}
${card.plan !== "" && (said?.ownWords ?? "") !== "" && html`<p class="meta">${said?.ownWords}</p>`}
${card.plan !== "" && html`<div class="text plan">${markdown(card.plan)}</div>`}
${said?.trouble.map((text) => (text.trim().includes("\n") ? html`<pre class="output">${visible(text)}</pre>` : html`<p class="note bad">${visible(text)}</p>`))}
${said?.failed.map((one) => failedCommand(one))}
${said !== null && said.way.length > 0 && html`<div class="text note">${markdown(said.way.join("\n"))}</div>`}
${card.result.changes.length > 0 && html`<div class="card-files">${card.result.changes.slice(0, SHOWN_FILES).map((change) => changedFile(context, card, change))}${card.result.changes.length > SHOWN_FILES && html`<p class="note">${t.moreFiles(card.result.changes.length - SHOWN_FILES)}</p>`}</div>`}
${said?.printed.map((one) => printedOutput(context, one))}
<footer class="actions">${card.buttons}<a class="open" href="/jobs/${encodeURIComponent(card.jobId)}">${t.openJob}</a></footer></section>`;
}

const SHOWN_FILES = 30;

function statusOfCard({ viewed, result }: JobCard): JobStatus {
  // A reply of an older version does not know what became of its job.
  return viewed === null ? (result.status ?? (result.success ? "applied" : "partly")) : viewedStatus(viewed);
}

export function statusTone(status: JobStatus): string {
  if (status === "applied") return "good";
  if (["partly", "worse", "refused", "interrupted", "unreadable"].includes(status)) return "bad";
  return status === "preview" ? "warn" : "plain";
}

function firstLine(text: string): string {
  return (text.trim().split("\n")[0] ?? "").slice(0, 80);
}

function caveats({ t }: PageContext, notes: readonly string[]): Markup {
  return html`<details class="info"><summary aria-label="${t.caveats}" title="${t.caveats}">${ICONS.info}</summary><ul>${notes.map((note) => html`<li>${outputLines(note)}</li>`)}</ul></details>`;
}

/** Folded; its difference is fetched when it is opened, and without a script it is a link to the job. */
function changedFile({ t }: PageContext, { jobId, pieces }: JobCard, { path, kind }: Change): Markup {
  const counts = pieces?.facts.lineCounts?.[path];
  const address = `/jobs/${encodeURIComponent(jobId)}`;
  return html`<details class="diff" data-src="${address}/diff?path=${encodeURIComponent(path)}"><summary><span class="kind ${kind}">${t.changeKinds[kind]}</span> <span class="path">${visiblePath(path)}</span>${counts !== undefined && html`<span class="counts"><span class="plus">+${counts.added}</span> <span class="minus">−${counts.removed}</span></span>`}</summary><div data-slot><p class="note"><a href="${address}">${t.openJob}</a></p></div></details>`;
}

function failedCommand({ command, error, output }: CommandWords): Markup {
  return html`<div class="failure"><p><span aria-hidden="true">✗</span> <code>${visible(command)}</code></p>${error !== "" && html`<p class="error">${visible(error)}</p>`}${output.trim() !== "" && html`<pre class="output" tabindex="0">${visible(output)}</pre>`}</div>`;
}

function printedOutput({ t }: PageContext, { command, output }: CommandWords): Markup {
  return html`<details class="printed"><summary>${t.timeline.output} <code>${visible(command)}</code></summary><pre class="output" tabindex="0">${visible(output)}</pre></details>`;
}

function outputLines(text: string): Piece {
  return visible(text)
    .split("\n")
    .map((line, n) => [n > 0 && html`<br>`, line]);
}

export function timeline(context: PageContext, journal: readonly JournalLine[]): Markup {
  // A draft starts again where it needs another kind of transaction: people see one start.
  const start = journal.find(({ event }) => event.type === "job_started");
  const isIdle = journal.some(({ event }) => event.type === "committed" && event.changes === 0);
  const isShown = ({ type }: JobEvent) => !(isIdle && (type === "undone" || type === "redone"));
  const lines = validatedJournal(journal).filter(
    (line) => (line.event.type !== "job_started" || line === start) && isShown(line.event),
  );
  const [first, last] =
    lines.length <= MOST_EVENTS
      ? [lines, []]
      : [lines.slice(0, MOST_EVENTS - LAST_EVENTS), lines.slice(-LAST_EVENTS)];
  const left = lines.length - first.length - last.length;
  const commands = { begun: new Map<string, PatchCommand>(), ended: new Set<string>() };
  for (const { event } of lines)
    if (event.type === "command_started") commands.begun.set(commandKey(event), event.command);
    else if (event.type === "command_finished") commands.ended.add(commandKey(event));
  const grouped = new Set<JobEvent>();
  const isRepeated = lines.some(({ event }) => "attempt" in event && event.attempt === 2);
  let attempt = 0;
  const view = ({ at, event }: JournalLine, n: number, all: readonly JournalLine[]) => {
    const entry = grouped.has(event)
      ? null
      : (foldedChecks(context, all, n, grouped) ?? toTimelineEntry(context, event, commands));
    if (entry === null) return null;
    // Where a coder tried more than once, each try has a head.
    const next = "attempt" in event ? (event.attempt ?? 0) : 0;
    const isHead = isRepeated && next > attempt;
    attempt = Math.max(attempt, next);
    return html`${isHead && html`<li class="head"><strong>${context.t.attemptNumber(next)}</strong></li>`}<li class="${entry.tone}"><div class="what">${entry.what}</div>${moment(context, at)}</li>`;
  };
  return html`<ol class="timeline">${first.map(view)}${left > 0 && html`<li class="plain"><div class="what">${context.t.timeline.more(left)}</div></li>`}${last.map(view)}</ol>`;
}

const commandKey = ({ attempt = 0, index }: { readonly attempt?: number; readonly index: number }) =>
  `${attempt}:${index}`;

/** The most events on one page; the last ones are kept, because they show how the job ended. */
const MOST_EVENTS = 600;
const LAST_EVENTS = 100;

interface TimelineEntry {
  readonly tone: "plain" | "good" | "bad" | "command";
  readonly what: Piece;
}

type CheckFinished = Extract<JobEvent, { type: "check_finished" }>;

/** Checks that follow each other: those of the change itself are shown, the runs around them are folded below. */
function foldedChecks(
  { t }: PageContext,
  lines: readonly JournalLine[],
  from: number,
  grouped: Set<JobEvent>,
): TimelineEntry | null {
  const run: CheckFinished[] = [];
  for (let at = from; at < lines.length; at += 1) {
    const event = lines[at]?.event;
    if (event?.type === "check_finished" && event.attempt === (run[0] ?? event).attempt) run.push(event);
    else if (event !== undefined && !SILENT.has(event.type)) break;
  }
  if (lines[from]?.event.type !== "check_finished") return null;
  for (const event of run) grouped.add(event);
  const ofChange = run.filter(({ over, altered }) => over === "draft" && altered !== true);
  // A run of some tests alone repeats or proves what the whole command said.
  const whole = ofChange.filter(({ command }) => nameCheck(command) === command);
  const shown = whole.length > 0 ? whole : ofChange.length > 0 ? ofChange.slice(0, 1) : run;
  const folded = run.filter((event) => !shown.includes(event));
  return {
    tone: shown.every(({ exit_code }) => exit_code === 0) ? "good" : "bad",
    what: html`${shown.map((event) => checkView(t, event))}${folded.length > 0 && html`<details><summary>${t.timeline.moreChecks(folded.length)}</summary>${folded.map((event) => checkView(t, event))}</details>`}`,
  };
}

function checkView(
  t: ConsoleMessages,
  { over, command, exit_code, duration: took, output }: CheckFinished,
): Markup {
  const said = wordCheck(historyMessagesFor(t.locale), {
    command: nameCheck(command),
    exitCode: exit_code,
    counts: readKeptCounts(output),
  });
  return html`<details class="check-run"><summary>${exit_code === 0 ? "✓" : "✗"} ${over === "baseline" && t.timeline.before} <code>${visible(said)}</code> ${duration(took)}</summary>${output.trim() !== "" && html`<pre class="output" tabindex="0">${visible(output.trimEnd())}</pre>`}</details>`;
}

/** These are transient, or shown with another event. */
const SILENT: ReadonlySet<JobEvent["type"]> = new Set([
  "command_judged",
  "doing",
  "planned",
  "agent_step",
  "agent_stop",
]);

function toTimelineEntry(
  { t, words: messages }: PageContext,
  event: JobEvent,
  {
    begun,
    ended,
  }: { readonly begun: ReadonlyMap<string, PatchCommand>; readonly ended: ReadonlySet<string> },
): TimelineEntry | null {
  const words = t.timeline;
  switch (event.type) {
    case "job_started":
      return { tone: "plain", what: words.started };
    case "command_started":
      return ended.has(commandKey(event)) ? null : { tone: "command", what: commandLine(t, event.command) };
    case "command_finished": {
      const command = begun.get(commandKey(event));
      const { error } = command === undefined ? event : withoutOutput({ ...event, command });
      return {
        tone: event.success ? "good" : "bad",
        what: html`<span>${event.success ? "✓" : "✗"} ${command !== undefined && commandLine(t, command)} ${duration(event.duration)}</span>
${error !== "" && html`<p class="error">${visible(wordError(messages, error))}</p>`}
${event.notes.map((note) => html`<p class="note">${visible(wordNote(messages, note))}</p>`)}
${event.output.trim() !== "" && html`<details ${!event.success && command?.type !== "file_edit" && html`open`}><summary>${words.output}</summary><pre class="output" tabindex="0">${visible(event.output.trimEnd())}</pre></details>`}`,
      };
    }
    case "merged":
      return {
        tone: event.lost === true ? "bad" : "plain",
        what: visible(wordNote(messages, { ...event, code: "merged" })),
      };
    case "answer_skipped":
      return { tone: "plain", what: visible(wordNote(messages, { ...event, code: "answer-skipped" })) };
    case "agent_started":
      return { tone: "command", what: visible(words.agentStarted(event.agent, event.task)) };
    case "agent_ended":
      return {
        tone: event.end === "done" ? "good" : "bad",
        what: words.agentEnded(event.agent, event.end, event.files),
      };
    case "check_finished":
    case "command_judged":
    case "doing":
    case "planned":
    case "agent_step":
    case "agent_stop":
      return null;
    case "auto_commit":
      return {
        tone: event.error === undefined ? "plain" : "bad",
        what: [
          words.autoCommit(event.moment, event.commit),
          event.error !== undefined && ` ${visible(event.error)}`,
        ],
      };
    case "staged":
      return { tone: "plain", what: words.staged(event.changes) };
    case "committed":
      return event.changes === 0
        ? { tone: "plain", what: words.unchanged }
        : { tone: "good", what: words.committed(event.changes) };
    case "conflict":
      return {
        tone: "bad",
        what: [words.conflict, html`<p class="paths">${event.paths.map(visible).join(", ")}</p>`],
      };
    case "rolled_back":
      return { tone: "bad", what: words.rolledBack(visible(event.reason)) };
    case "undone":
      return { tone: "plain", what: words.undone(event.changes) };
    case "redone":
      return { tone: "good", what: words.redone(event.changes) };
    case "evicted":
      return { tone: "plain", what: words.evicted };
    case "quota_evicted": {
      const evicted = event.jobs.map(({ job_id: jobId, bytes }) => ({ jobId, bytes }));
      const text = wordEviction(messages, { evicted, quotaBytes: event.quota_bytes });
      return { tone: "plain", what: visible(text) };
    }
    case "note":
      return { tone: "plain", what: visible(event.text) };
  }
}

export function commandLine(t: ConsoleMessages, command: PatchCommand): Markup {
  const kind = t.commandKinds[command.type as keyof typeof t.commandKinds] ?? command.type;
  return html`<span class="chip">${kind}</span> <span class="verb">${command.action}</span> <code>${visible(command.target).split("\n")[0]}</code>`;
}

/** The outcome of an action on a job, for a person and for a program. */
export interface ActionOutcome {
  readonly ok: boolean;
  /** 200, or why not: 404 unknown, 409 in the way, 503 another machine does not answer. */
  readonly status: 200 | 404 | 409 | 503;
  readonly code: string;
  readonly text: string;
  readonly offerForce: boolean;
  /** Numbers of the jobs that one button undoes together. */
  readonly together?: readonly number[];
}

/** Null: there is no such action. */
export async function actOnJob(
  { viewerJobs }: Pick<WebHost, "viewerJobs">,
  words: Messages,
  viewer: Viewer,
  { jobId, verb, force }: { readonly jobId: string; readonly verb: string; readonly force: boolean },
): Promise<ActionOutcome | null> {
  if (verb !== "undo" && verb !== "redo" && verb !== "apply" && verb !== "stop") return null;
  return toActionOutcome(words, await viewerJobs.act(viewer, verb, jobId, force));
}

export function toActionOutcome(words: Messages, facts: ActionFacts): ActionOutcome {
  const { code, action } = facts;
  return {
    ok: code === "done",
    status: httpStatusOf(code),
    code,
    text: wordAction(words, facts, facts.machine === undefined ? "console" : "terminal"),
    offerForce: code === "conflict" && action === "undo",
    // The numbers of another machine name other jobs here.
    ...(facts.together !== undefined && facts.machine === undefined && { together: facts.together }),
  };
}

function httpStatusOf(code: ActionFacts["code"]): ActionOutcome["status"] {
  switch (code) {
    case "done":
      return 200;
    case "unknown-job":
      return 404;
    case "machine-away":
    case "machine-gone":
    case "unsettled":
      return 503;
    default:
      return 409;
  }
}
