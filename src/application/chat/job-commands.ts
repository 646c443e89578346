import type { RewindMessage, RewindPlan } from "../../domain/chat/rewind-plan.ts";
import { countFiles, nameJob } from "../../domain/jobs/result.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { messagesFor, reportMessages } from "../../domain/texts/jobs.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import {
  actionsFor,
  discardFacts,
  previewFacts,
  type TakeBackStep,
  takeBackFacts,
} from "../jobs/action-report.ts";
import { findLastChange, movedLater, stuckTakeBack, waitingPreview } from "../jobs/job-facts.ts";
import type { Turn } from "../ports/chat.ts";
import type { JobArchive, JournalLine, StoredJob } from "../ports/jobs.ts";
import { actOnFarJob, findFarJob, jobsOfChat, jobsVisibleTo, namedJobs } from "./chat-commands.ts";
import {
  type Answer,
  answerInEveryLanguage,
  type ChatBase,
  type ChatCommand,
  type ChatTurn,
  createAnswer,
  createLabelledAction,
  type JobDeps,
  type StateDeps,
} from "./chat-turn.ts";
import { say } from "./reply-words.ts";

/** A preview is a job; in a group it is the one that waits. */
function nameJobs(deps: JobDeps, turn: ChatTurn, name: string) {
  const jobs = namedJobs(deps, turn, name);
  return typeof jobs === "string" ? jobs : (jobs.find(({ state }) => state === "staged") ?? jobs.at(-1));
}

/** `/dry on|off`: whether this chat's proposals are only shown. */
export const dry: ChatCommand<StateDeps> = async (deps, turn, rest) => {
  const word = rest.trim().toLowerCase();
  if (word === "") return createAnswer([say("dryState", turn.dry), say("dryUsage")], true);
  if (word !== "on" && word !== "off") return createAnswer([say("dryUsage")], false);
  await deps.sessions.saveSettings(turn.message, { dry: word === "on" });
  return createAnswer([say("dryState", word === "on")], true);
};

/** `/apply [job]`: applies exactly what the preview showed. */
export const apply: ChatCommand<JobDeps> = async (deps, turn, rest) => {
  const { chat, workspace } = deps;
  const wanted = rest.trim();
  const far = await findFarJob(deps, turn, wanted);
  if (far !== null) return actOnFarJob(far, "apply");
  const job =
    wanted === ""
      ? jobsOfChat(deps, turn).findLast(({ state }) => state === "staged")
      : nameJobs(deps, turn, wanted);
  if (job === undefined) return createAnswer([say("noPreview")], false);
  const name = job === "unknown" ? wanted : job.jobId;
  const outcome = job === "unknown" ? ({ status: "unknown" } as const) : await workspace.commitPreview(name);
  const facts = previewFacts(workspace, name, outcome);
  const done = facts.code === "done";
  return {
    ...createAnswer([{ kind: "action", facts }], done),
    actions: done ? actionsFor(workspace.archive, name, chat.actions) : [],
  };
};

/** `/discard [job]`: discards a preview; without a name only if one waits, because it cannot be restored. */
export const discard: ChatCommand<JobDeps> = async (deps, turn, rest) => {
  const { workspace } = deps;
  const wanted = rest.trim();
  const far = await findFarJob(deps, turn, wanted);
  if (far !== null) return actOnFarJob(far, "discard");
  const job = wanted === "" ? waitingPreview(jobsOfChat(deps, turn)) : nameJobs(deps, turn, wanted);
  if (job !== undefined && job !== "unknown" && "several" in job)
    return answerInEveryLanguage((locale) => messagesFor(locale).previewsWait(job.several), false);
  const name = job === undefined || job === "unknown" ? wanted : job.jobId;
  const outcome =
    job === undefined || job === "unknown"
      ? ({ status: job ?? "nothing" } as const)
      : await workspace.discardPreview(name);
  const facts = discardFacts(workspace, name, outcome);
  return createAnswer([{ kind: "action", facts }], facts.code === "done");
};

/** `/undo [job or group] [--force]`: the jobs of the last message that changed something, or the named ones. */
export const undo: ChatCommand<StateDeps> = (deps, turn, rest) => swapJobs(deps, turn, rest, "undo");

/** `/redo [job or group] [--force]`: applies the last undone job again. */
export const redo: ChatCommand<StateDeps> = (deps, turn, rest) => swapJobs(deps, turn, rest, "redo");

async function swapJobs(
  deps: StateDeps,
  turn: Parameters<ChatCommand>[1],
  rest: string,
  direction: "undo" | "redo",
): Promise<Answer> {
  const { chat, workspace } = deps;
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const force = words.includes("--force");
  const names = words.filter((word) => !word.startsWith("-"));
  const wanted = names.length === 0 ? undefined : names.join(" ");
  const far = wanted === undefined ? null : await findFarJob(deps, turn, wanted);
  if (far !== null) return actOnFarJob(far, direction, force);
  // Which job was the last is known only when what was cut off is finished.
  const repaired = await workspace.repair();
  if (wanted === undefined && direction === "undo" && (await nothingWaits(deps, turn)))
    return createAnswer([say("waitedForNothing")], false);
  // It may be the last job of this chat: whose it is cannot be read.
  const name =
    wanted ??
    findLastChange(jobsOfChat(deps, turn), direction)?.groupId ??
    jobsVisibleTo(deps, turn).findLast(({ closed }) => closed !== undefined)?.jobId;
  const known = names.every((one) => namedJobs(deps, turn, one) !== "unknown");
  const outcome =
    stuckTakeBack(workspace.archive, repaired) ??
    (name === undefined
      ? ({ status: "nothing" } as const)
      : !known
        ? ({ status: "unknown", name } as const)
        : await workspace.takeBack({ direction, name, force }));
  const facts = takeBackFacts(workspace, direction, repaired === null ? outcome : { ...outcome, repaired });
  const done = facts.code === "done";
  if (facts.done.length > 0) turn.emit({ type: "undone", jobIds: facts.done.map(({ jobId }) => jobId) });
  const hasOthers = name === undefined && findLastChange(jobsVisibleTo(deps, turn), direction) !== undefined;
  const others = hasOthers ? [say("otherChatsJobs", direction)] : [];
  return {
    ...createAnswer([{ kind: "action", facts }, ...others], done, done ? "Worker" : ""),
    // The user must clear a conflict first, and another chat's job is not for this one; all other outcomes
    // are answered by the current state of the jobs.
    actions:
      facts.together !== undefined
        ? [undoTogether(deps, facts.together)]
        : outcome.status === "conflict" || outcome.status === "unknown" || name === undefined
          ? []
          : actionsFor(workspace.archive, name, chat.actions),
  };
}

/** One button for a job and those that stand in its way. */
function undoTogether({ messages }: ChatBase, numbers: readonly number[]) {
  const labels = inEveryLanguage((locale) => reportMessages(locale).together(numbers));
  const message = `/undo ${numbers.map((one) => `#${one}`).join(" ")}`;
  return { label: labels[messages.locale], labels, message };
}

/** Whether the message that was being answered when this one was sent left no job: this one is about that message. */
async function nothingWaits(deps: StateDeps, turn: ChatTurn): Promise<boolean> {
  const { sentAt } = turn.message;
  if (sentAt === undefined) return false;
  const { turns } = await deps.sessions.context(turn.session);
  // Changes moved by an earlier command (`/undo`, `/apply`) belong to the group of another message.
  const before = turns.findLast(({ role, agent }) => role === "assistant" && agent !== "Worker");
  if (before === undefined || before.at <= sentAt) return false;
  return !jobsOfChat(deps, turn).some(
    ({ groupId, state, changes }) =>
      groupId === before.groupId && changes.length > 0 && state !== "discarded" && state !== "staged",
  );
}

export interface RewindSteps {
  /** In the order of the swaps: the last change first. */
  readonly steps: readonly TakeBackStep[];
  /** Jobs that would have to be swapped too, and cannot be any more. */
  readonly gone: readonly string[];
}

/** The jobs that were in the workspace at that moment and are not now, and the other way round. */
export function planRewindSteps(
  archive: Pick<JobArchive, "events">,
  jobs: readonly StoredJob[],
  since: string,
): RewindSteps {
  const moved = jobs.filter(({ stateAt, changes }) => stateAt > since && changes.length > 0);
  const steps: TakeBackStep[] = [];
  const gone: string[] = [];
  for (const job of moved.sort((x, y) => (movedLater(x, y) ? -1 : 1))) {
    const lines = archive.events(job.jobId);
    const then = job.createdAt <= since && isCommittedAfter(lines.filter(({ at }) => at <= since)) === true;
    const now = job.state === "evicted" ? (isCommittedAfter(lines) ?? true) : job.state === "committed";
    const swappable = job.state === "committed" || job.state === "undone";
    if (then === now || (!swappable && job.state !== "evicted")) continue;
    if (!swappable || job.kind === "none") gone.push(nameJob(job));
    else steps.push({ direction: now ? "undo" : "redo", job });
  }
  return { steps, gone };
}

/** Whether the job's changes were in the workspace after these events; null when they do not tell. */
function isCommittedAfter(lines: readonly JournalLine[]): boolean | null {
  const last = lines.findLast(({ event }) => STATE_EVENTS.has(event.type))?.event.type;
  return last === undefined ? null : last === "committed" || last === "redone";
}

const STATE_EVENTS = new Set<JournalLine["event"]["type"]>([
  "staged",
  "committed",
  "undone",
  "redone",
  "rolled_back",
]);

const MOVES_JOB = /^\/(?:undo|redo|apply|discard|rewind)\b/;
const MOST_LISTED_MESSAGES = 10;

interface SessionMessage {
  readonly number: number;
  readonly user: Turn;
  readonly last: Turn;
}

/** `/rewind`: the session's messages. `/rewind N`: what going back to N changes; `--yes` does it. `/rewind redo` reverts the last one. */
export const rewind: ChatCommand<StateDeps> = async (deps, turn, rest) => {
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const [wanted] = words;
  if (wanted === "redo") return redoRewind(deps, turn);
  const turns = await deps.sessions.turns(turn.session);
  const heard = toSessionMessages(turns);
  if (wanted === undefined) return listMessages(deps, turn, heard, await earlierRewinds(deps, turn));
  const number = /^\d{1,5}$/.test(wanted) ? Number(wanted) : -1;
  const target = heard.find((one) => one.number === number);
  if (target === undefined && number !== 0)
    return createAnswer([say("rewindUsage", heard.length), ...(await earlierRewinds(deps, turn))], false);
  const after = target?.last.position ?? 0;
  const since = target?.last.at ?? turn.session.openedAt;
  const way = planRewindSteps(deps.workspace.archive, jobsOfChat(deps, turn), since);
  const forgotten = heard.filter((one) => one.user.position > after);
  if (way.steps.length === 0 && way.gone.length === 0 && forgotten.length === 0)
    return createAnswer([say("rewindNothing"), ...(await earlierRewinds(deps, turn))], false);
  const plan = { number, messages: forgotten.map(messageWords), ...stepWords(way.steps) };
  if (!words.includes("--yes"))
    return {
      ...createAnswer([say("rewindPlan", plan)], true),
      actions: [createLabelledAction(deps, (chat) => chat.rewindLabel, `/rewind ${number} --yes`)],
    };
  return runRewind(deps, turn, { after, way, plan });
};

interface RewindRun {
  readonly after: number;
  readonly way: RewindSteps;
  readonly plan: RewindPlan;
}

async function runRewind(deps: StateDeps, turn: ChatTurn, { after, way, plan }: RewindRun): Promise<Answer> {
  // A user who asks for everything does not want a part.
  if (way.gone.length > 0) return createAnswer([say("rewindGone", way.gone)], false);
  const taken = await takeBackAll(deps.workspace, way.steps);
  if (!taken.ok) return rewindStopped(deps, taken);
  const jobIds = way.steps.map(({ job }) => job.jobId);
  const again = way.steps.flatMap(({ direction, job }) => (direction === "redo" ? [job.jobId] : []));
  await deps.sessions.setAside(turn.session, after, { jobIds, again });
  if (jobIds.length > 0) turn.emit({ type: "undone", jobIds });
  return {
    ...createAnswer([say("rewindDone", plan)], true),
    actions: [createLabelledAction(deps, (chat) => chat.rewindRedoLabel, "/rewind redo")],
  };
}

async function redoRewind(deps: StateDeps, turn: ChatTurn): Promise<Answer> {
  const aside = await deps.sessions.lastAside(turn.session);
  if (aside === null) return createAnswer([say("rewindNoneBack")], false);
  // Jobs that were recommitted one by one since are already present.
  const steps = aside.jobIds
    .toReversed()
    .map((jobId) => deps.workspace.archive.read(jobId))
    .filter((job) => job !== null)
    .map((job): TakeBackStep => ({ direction: aside.again.includes(job.jobId) ? "undo" : "redo", job }))
    .filter(({ direction, job }) => job.state === (direction === "undo" ? "committed" : "undone"));
  const taken = await takeBackAll(deps.workspace, steps);
  if (!taken.ok) return rewindStopped(deps, taken);
  await deps.sessions.putBack(turn.session, aside);
  const { jobs: back, again } = stepWords(steps);
  return createAnswer([say("rewindRedone", again, back)], true);
}

function rewindStopped(
  deps: JobDeps,
  { direction, stopped: outcome, left }: Extract<Awaited<ReturnType<typeof takeBackAll>>, { ok: false }>,
): Answer {
  const facts = takeBackFacts(deps.workspace, direction, outcome);
  return createAnswer([{ kind: "action", facts }, say("rewindStopped", left)], false);
}

/** A rewind stays within its session; if there is an earlier one, the reply names the command that resumes it. */
async function earlierRewinds(deps: StateDeps, turn: ChatTurn) {
  return (await deps.sessions.hasEarlier(turn.session)) ? [say("rewindEarlier")] : [];
}

function listMessages(
  deps: JobDeps,
  turn: ChatTurn,
  heard: readonly SessionMessage[],
  before: readonly ReturnType<typeof say>[],
): Answer {
  if (heard.length === 0) return createAnswer([say("rewindNothing"), ...before], false);
  const jobs = jobsOfChat(deps, turn);
  // A key or a button that moved a job is not something that was said.
  const said = heard.filter(({ user }) => !MOVES_JOB.test(user.text));
  const messages = said.slice(-MOST_LISTED_MESSAGES).map((one) => ({
    ...messageWords(one),
    files: jobs
      .filter(({ groupId, state }) => groupId === one.user.groupId && state === "committed")
      .reduce((sum, { changes }) => sum + countFiles(changes), 0),
  }));
  const nothing = { number: 0, at: "", text: deps.chat.rewindStart, files: 0 };
  return {
    ...createAnswer([say("rewindList", messages), ...before], true),
    choices: [...messages.toReversed(), nothing].map(({ number, at, text }) => ({
      label: `${number}  ${at}`.trimEnd(),
      description: text,
      message: `/rewind ${number} --yes`,
    })),
  };
}

function toSessionMessages(turns: readonly Turn[]): SessionMessage[] {
  const heard: SessionMessage[] = [];
  for (const turn of turns) {
    const before = heard.at(-1);
    if (turn.role === "user") heard.push({ number: heard.length + 1, user: turn, last: turn });
    else if (before !== undefined) heard[heard.length - 1] = { ...before, last: turn };
  }
  return heard;
}

function messageWords({ number, user }: SessionMessage): RewindMessage {
  const line = user.text.trim().split("\n")[0] ?? "";
  return { number, at: localTime(user.at).slice(11, 16), text: [...line].slice(0, 60).join("") };
}

function stepWords(steps: readonly TakeBackStep[]) {
  const those = (wanted: TakeBackStep["direction"]) =>
    steps
      .filter(({ direction }) => direction === wanted)
      .map(({ job }) => ({ jobId: nameJob(job), paths: job.changes.map(({ path }) => path) }));
  return { jobs: those("undo"), again: those("redo") };
}

/** All or none: a conflict swaps the others back, but for `left`, whose files changed. A kill leaves whole jobs on either side. */
async function takeBackAll(workspace: StateDeps["workspace"], steps: readonly TakeBackStep[]) {
  const swap = ({ direction, job }: TakeBackStep) =>
    workspace.takeBack({ direction, name: job.jobId, force: false });
  const done: TakeBackStep[] = [];
  for (const step of steps) {
    const taken = await swap(step);
    if (taken.status === "done") {
      done.push(step);
      continue;
    }
    const left: string[] = [];
    for (const one of done.toReversed())
      if ((await swap({ ...one, direction: one.direction === "undo" ? "redo" : "undo" })).status !== "done")
        left.push(nameJob(one.job));
    return { ok: false, direction: step.direction, stopped: taken, left } as const;
  }
  return { ok: true } as const;
}
