import { localTime } from "../../../domain/texts/local-time.ts";
import type { RewindJob, RewindMessage, RewindPlan } from "../../../domain/texts/rewind-words.ts";
import type { StoredJob } from "../../ports/jobs.ts";
import type { Turn } from "../../ports/sessions.ts";
import { takeBackFacts } from "../../work/report/action-facts.ts";
import { say } from "../../work/report/said.ts";
import { type Step, type TakenAll, takeBackAll } from "../../work/take-back-all.ts";
import { answering, labelled } from "../answering.ts";
import type { ChatCommand, ChatParts } from "../parts.ts";
import type { Answer, ChatTurn } from "../turn.ts";
import { jobsOfChat } from "./own-jobs.ts";
import { type WayBack, wayBack } from "./rewind-steps.ts";

/** Messages that `/rewind` lists. */
const LISTED = 10;

/** A message of the session, with the last turn that belongs to it. */
interface Heard {
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
  if (wanted === "redo") return bringBack(parts, turn);
  const turns = await parts.sessions.turns(turn.session);
  const heard = messagesOf(turns);
  if (wanted === undefined) return listed(parts, turn, heard, await earlier(parts, turn));
  const number = /^\d{1,5}$/.test(wanted) ? Number(wanted) : -1;
  const target = heard.find((one) => one.number === number);
  if (target === undefined && number !== 0)
    return answering(parts, [say("rewindUsage", heard.length), ...(await earlier(parts, turn))], false);
  const after = target?.last.position ?? 0;
  const since = target?.last.at ?? turn.session.openedAt;
  const way = wayBack(parts.workspace.archive, jobsOfChat(parts, turn), since);
  const forgotten = heard.filter((one) => one.user.position > after);
  if (way.steps.length === 0 && way.gone.length === 0 && forgotten.length === 0)
    return answering(parts, [say("rewindNothing"), ...(await earlier(parts, turn))], false);
  const plan = { number, messages: forgotten.map(messageWords), ...stepWords(way.steps) };
  if (!words.includes("--yes"))
    return {
      ...answering(parts, [say("rewindPlan", plan)], true),
      actions: [labelled(parts, (chat) => chat.rewindLabel, `/rewind ${number} --yes`)],
    };
  return goBack(parts, turn, { after, way, plan });
};

interface Going {
  readonly after: number;
  readonly way: WayBack;
  readonly plan: RewindPlan;
}

async function goBack(parts: ChatParts, turn: ChatTurn, { after, way, plan }: Going): Promise<Answer> {
  // Whoever asks for everything does not want a part.
  if (way.gone.length > 0) return answering(parts, [say("rewindGone", way.gone)], false);
  const taken = await takeBackAll(parts.workspace, way.steps);
  if (!taken.ok) return stopped(parts, taken);
  const jobIds = way.steps.map(({ job }) => job.jobId);
  const again = way.steps.flatMap(({ direction, job }) => (direction === "redo" ? [job.jobId] : []));
  await parts.sessions.setAside(turn.session, after, { jobIds, again });
  if (jobIds.length > 0) turn.emit({ type: "undone", jobIds });
  return {
    ...answering(parts, [say("rewindDone", plan)], true),
    actions: [labelled(parts, (chat) => chat.rewindRedoLabel, "/rewind redo")],
  };
}

async function bringBack(parts: ChatParts, turn: ChatTurn): Promise<Answer> {
  const aside = await parts.sessions.lastAside(turn.session);
  if (aside === null) return answering(parts, [say("rewindNoneBack")], false);
  // What was brought in again one by one since is there already.
  const steps = aside.jobIds
    .toReversed()
    .map((jobId) => parts.workspace.archive.read(jobId))
    .filter((job) => job !== null)
    .map((job): Step => ({ direction: aside.again.includes(job.jobId) ? "undo" : "redo", job }))
    .filter(({ direction, job }) => job.state === (direction === "undo" ? "committed" : "undone"));
  const taken = await takeBackAll(parts.workspace, steps);
  if (!taken.ok) return stopped(parts, taken);
  await parts.sessions.putBack(turn.session, aside);
  const { jobs: back, again } = stepWords(steps);
  return answering(parts, [say("rewindRedone", again, back)], true);
}

function stopped(
  parts: ChatParts,
  { direction, stopped: outcome, left }: Extract<TakenAll, { ok: false }>,
): Answer {
  const facts = takeBackFacts(parts.workspace, direction, outcome);
  return answering(parts, [{ kind: "action", facts }, say("rewindStopped", left)], false);
}

/** A rewind stays within its session; where there was one before, the way there is said. */
async function earlier(parts: ChatParts, turn: ChatTurn) {
  return (await parts.sessions.hasEarlier(turn.session)) ? [say("rewindEarlier")] : [];
}

function listed(
  parts: ChatParts,
  turn: ChatTurn,
  heard: readonly Heard[],
  before: readonly ReturnType<typeof say>[],
): Answer {
  if (heard.length === 0) return answering(parts, [say("rewindNothing"), ...before], false);
  const jobs = jobsOfChat(parts, turn);
  const messages = heard.slice(-LISTED).map((one) => ({
    ...messageWords(one),
    files: jobs
      .filter(({ groupId, state }) => groupId === one.user.groupId && state === "committed")
      .reduce((sum, { changes }) => sum + changes.length, 0),
  }));
  return answering(parts, [say("rewindList", messages), ...before], true);
}

function messagesOf(turns: readonly Turn[]): Heard[] {
  const heard: Heard[] = [];
  for (const turn of turns) {
    const before = heard.at(-1);
    if (turn.role === "user") heard.push({ number: heard.length + 1, user: turn, last: turn });
    else if (before !== undefined) heard[heard.length - 1] = { ...before, last: turn };
  }
  return heard;
}

function messageWords({ number, user }: Heard): RewindMessage {
  const line = user.text.trim().split("\n")[0] ?? "";
  return { number, at: localTime(user.at).slice(11, 16), text: [...line].slice(0, 60).join("") };
}

/** Which jobs are taken back, and which are brought in again. */
function stepWords(steps: readonly Step[]) {
  const those = (wanted: Step["direction"]) =>
    steps.filter(({ direction }) => direction === wanted).map(({ job }) => jobWords(job));
  return { jobs: those("undo"), again: those("redo") };
}

function jobWords({ jobId, changes }: StoredJob): RewindJob {
  return { jobId, paths: changes.map(({ path }) => path) };
}
