import { localTime } from "../../domain/texts/local-time.ts";
import type { RewindJob, RewindMessage, RewindPlan } from "../../domain/jobs/rewind-plan.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { Turn } from "../ports/chat.ts";
import { takeBackFacts } from "../jobs/action-report.ts";
import { say } from "./reply-words.ts";
import { type TakeBackAllResult, type TakeBackStep, takeBackAll } from "../jobs/take-back-all.ts";
import { createAnswer, createLabelledAction } from "./answering.ts";
import type { ChatCommand, ChatDeps } from "./chat-turn.ts";
import type { Answer, ChatTurn } from "./turn.ts";
import { jobsOfChat } from "./chat-commands.ts";
import { planRewindSteps, type RewindSteps } from "./rewind-steps.ts";

/** Messages that `/rewind` lists. */
const MOST_LISTED_MESSAGES = 10;

/** A message of the session, with the last turn that belongs to it. */
interface SessionMessage {
  readonly number: number;
  readonly user: Turn;
  readonly last: Turn;
}

/**
 * `/rewind`: the messages of this session. `/rewind N`: what would be taken back, and brought in again, to get to where
 * message N had been answered; `--yes` does it, all or nothing. `/rewind redo` brings the last rewind in again.
 */
export const rewind: ChatCommand = async (parts, turn, rest) => {
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const [wanted] = words;
  if (wanted === "redo") return redoRewind(parts, turn);
  const turns = await parts.sessions.turns(turn.session);
  const heard = toSessionMessages(turns);
  if (wanted === undefined) return listMessages(parts, turn, heard, await earlierRewinds(parts, turn));
  const number = /^\d{1,5}$/.test(wanted) ? Number(wanted) : -1;
  const target = heard.find((one) => one.number === number);
  if (target === undefined && number !== 0)
    return createAnswer(
      parts,
      [say("rewindUsage", heard.length), ...(await earlierRewinds(parts, turn))],
      false,
    );
  const after = target?.last.position ?? 0;
  const since = target?.last.at ?? turn.session.openedAt;
  const way = planRewindSteps(parts.workspace.archive, jobsOfChat(parts, turn), since);
  const forgotten = heard.filter((one) => one.user.position > after);
  if (way.steps.length === 0 && way.gone.length === 0 && forgotten.length === 0)
    return createAnswer(parts, [say("rewindNothing"), ...(await earlierRewinds(parts, turn))], false);
  const plan = { number, messages: forgotten.map(messageWords), ...stepWords(way.steps) };
  if (!words.includes("--yes"))
    return {
      ...createAnswer(parts, [say("rewindPlan", plan)], true),
      actions: [createLabelledAction(parts, (chat) => chat.rewindLabel, `/rewind ${number} --yes`)],
    };
  return runRewind(parts, turn, { after, way, plan });
};

interface RewindRun {
  readonly after: number;
  readonly way: RewindSteps;
  readonly plan: RewindPlan;
}

async function runRewind(parts: ChatDeps, turn: ChatTurn, { after, way, plan }: RewindRun): Promise<Answer> {
  // Whoever asks for everything does not want a part.
  if (way.gone.length > 0) return createAnswer(parts, [say("rewindGone", way.gone)], false);
  const taken = await takeBackAll(parts.workspace, way.steps);
  if (!taken.ok) return rewindStopped(parts, taken);
  const jobIds = way.steps.map(({ job }) => job.jobId);
  const again = way.steps.flatMap(({ direction, job }) => (direction === "redo" ? [job.jobId] : []));
  await parts.sessions.setAside(turn.session, after, { jobIds, again });
  if (jobIds.length > 0) turn.emit({ type: "undone", jobIds });
  return {
    ...createAnswer(parts, [say("rewindDone", plan)], true),
    actions: [createLabelledAction(parts, (chat) => chat.rewindRedoLabel, "/rewind redo")],
  };
}

async function redoRewind(parts: ChatDeps, turn: ChatTurn): Promise<Answer> {
  const aside = await parts.sessions.lastAside(turn.session);
  if (aside === null) return createAnswer(parts, [say("rewindNoneBack")], false);
  // What was brought in again one by one since is there already.
  const steps = aside.jobIds
    .toReversed()
    .map((jobId) => parts.workspace.archive.read(jobId))
    .filter((job) => job !== null)
    .map((job): TakeBackStep => ({ direction: aside.again.includes(job.jobId) ? "undo" : "redo", job }))
    .filter(({ direction, job }) => job.state === (direction === "undo" ? "committed" : "undone"));
  const taken = await takeBackAll(parts.workspace, steps);
  if (!taken.ok) return rewindStopped(parts, taken);
  await parts.sessions.putBack(turn.session, aside);
  const { jobs: back, again } = stepWords(steps);
  return createAnswer(parts, [say("rewindRedone", again, back)], true);
}

function rewindStopped(
  parts: ChatDeps,
  { direction, stopped: outcome, left }: Extract<TakeBackAllResult, { ok: false }>,
): Answer {
  const facts = takeBackFacts(parts.workspace, direction, outcome);
  return createAnswer(parts, [{ kind: "action", facts }, say("rewindStopped", left)], false);
}

/** A rewind stays within its session; where there was one before, the way there is said. */
async function earlierRewinds(parts: ChatDeps, turn: ChatTurn) {
  return (await parts.sessions.hasEarlier(turn.session)) ? [say("rewindEarlier")] : [];
}

function listMessages(
  parts: ChatDeps,
  turn: ChatTurn,
  heard: readonly SessionMessage[],
  before: readonly ReturnType<typeof say>[],
): Answer {
  if (heard.length === 0) return createAnswer(parts, [say("rewindNothing"), ...before], false);
  const jobs = jobsOfChat(parts, turn);
  const messages = heard.slice(-MOST_LISTED_MESSAGES).map((one) => ({
    ...messageWords(one),
    files: jobs
      .filter(({ groupId, state }) => groupId === one.user.groupId && state === "committed")
      .reduce((sum, { changes }) => sum + changes.length, 0),
  }));
  return createAnswer(parts, [say("rewindList", messages), ...before], true);
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

/** Which jobs are taken back, and which are brought in again. */
function stepWords(steps: readonly TakeBackStep[]) {
  const those = (wanted: TakeBackStep["direction"]) =>
    steps.filter(({ direction }) => direction === wanted).map(({ job }) => jobWords(job));
  return { jobs: those("undo"), again: those("redo") };
}

function jobWords({ jobId, changes }: StoredJob): RewindJob {
  return { jobId, paths: changes.map(({ path }) => path) };
}
