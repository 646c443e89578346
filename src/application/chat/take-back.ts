import type { StoredJob } from "../ports/jobs.ts";
import { actionsFor } from "../jobs/present-actions.ts";
import { takeBackFacts } from "../jobs/action-report.ts";
import { say } from "./reply-words.ts";
import { stuckTakeBack } from "../jobs/undo-job.ts";
import { createAnswer } from "./answering.ts";
import type { ChatCommand, ChatDeps } from "./chat-turn.ts";
import type { Answer, ChatTurn } from "./turn.ts";
import { actOnFarJob, findFarJob, jobsOfChat, jobsVisibleTo, namedJobs } from "./chat-commands.ts";

/** `/undo [job or group] [--force]`: the jobs of the last message that changed something, or the named ones. */
export const undo: ChatCommand = (parts, turn, rest) => swapJobs(parts, turn, rest, "undo");

/** `/redo [job or group] [--force]`: brings in again what was taken back last. */
export const redo: ChatCommand = (parts, turn, rest) => swapJobs(parts, turn, rest, "redo");

async function swapJobs(
  parts: ChatDeps,
  turn: Parameters<ChatCommand>[1],
  rest: string,
  direction: "undo" | "redo",
): Promise<Answer> {
  const { chat, workspace } = parts;
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const force = words.includes("--force");
  const wanted = words.find((word) => !word.startsWith("-"));
  const far = wanted === undefined ? null : await findFarJob(parts, turn, wanted);
  if (far !== null) return actOnFarJob(parts, far, direction, force);
  // Which job was the last is known only when what was cut off is finished.
  const repaired = await workspace.repair();
  if (wanted === undefined && direction === "undo" && (await nothingWaits(parts, turn)))
    return createAnswer(parts, [say("waitedForNothing")], false);
  const name = wanted ?? lastGroup(jobsOfChat(parts, turn), direction);
  const known = wanted === undefined || namedJobs(parts, turn, wanted) !== "unknown";
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
  const hasOthers = name === undefined && lastGroup(jobsVisibleTo(parts, turn), direction) !== undefined;
  const others = hasOthers ? [say("otherChatsJobs", direction)] : [];
  return {
    ...createAnswer(parts, [{ kind: "action", facts }, ...others], done, done ? "Worker" : ""),
    // What is in the way is for the person to clear first, and another chat's job is not for this one; everything else is answered by how the jobs are now.
    actions:
      outcome.status === "conflict" || outcome.status === "unknown" || name === undefined
        ? []
        : actionsFor(workspace.archive, name, chat.actions),
  };
}

/**
 * Whether the message that was being answered when this one was sent left nothing: whoever sent it meant that one, and not
 * what stood before.
 */
async function nothingWaits(parts: ChatDeps, turn: ChatTurn): Promise<boolean> {
  const { sentAt } = turn.message;
  if (sentAt === undefined) return false;
  const { turns } = await parts.sessions.context(turn.session);
  // What a command before this one moved (`/undo`, `/apply`) belongs to the group of another message.
  const before = turns.findLast(({ role, agent }) => role === "assistant" && agent !== "Worker");
  if (before === undefined || before.at <= sentAt) return false;
  return !jobsOfChat(parts, turn).some(
    ({ groupId, state, changes }) =>
      groupId === before.groupId && changes.length > 0 && state !== "discarded" && state !== "staged",
  );
}

/** The group of the newest change that stands, or of the one taken back last. */
function lastGroup(jobs: readonly StoredJob[], direction: "undo" | "redo"): string | undefined {
  const state = direction === "undo" ? "committed" : "undone";
  const ready = jobs.filter((job) => job.state === state && job.changes.length > 0 && job.kind !== "none");
  if (direction === "redo") ready.sort((a, b) => (a.stateAt < b.stateAt ? -1 : 1));
  return ready.at(-1)?.groupId;
}
