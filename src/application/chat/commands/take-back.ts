import type { StoredJob } from "../../ports/jobs.ts";
import { actionsFor } from "../../work/present-actions.ts";
import { takeBackFacts } from "../../work/report/action-facts.ts";
import { stuckOn } from "../../work/take-back.ts";
import { answering } from "../answering.ts";
import type { ChatCommand, ChatParts } from "../parts.ts";
import type { Answer } from "../turn.ts";
import { actFar, farJob, jobsOfChat, namedJobs } from "./own-jobs.ts";

/** `/undo [job or group] [--force]`: the jobs of the last message that changed something, or the named ones. */
export const undo: ChatCommand = (parts, turn, rest) => swap(parts, turn, rest, "undo");

/** `/redo [job or group] [--force]`: brings in again what was taken back last. */
export const redo: ChatCommand = (parts, turn, rest) => swap(parts, turn, rest, "redo");

async function swap(
  parts: ChatParts,
  turn: Parameters<ChatCommand>[1],
  rest: string,
  direction: "undo" | "redo",
): Promise<Answer> {
  const { chat, workspace } = parts;
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const force = words.includes("--force");
  const wanted = words.find((word) => !word.startsWith("-"));
  const far = wanted === undefined ? null : await farJob(parts, turn, wanted);
  if (far !== null) return actFar(parts, far, direction, force);
  // Which job was the last is known only when what was cut off is finished.
  const repaired = await workspace.repair();
  const name = wanted ?? lastGroup(jobsOfChat(parts, turn), direction);
  const known = wanted === undefined || namedJobs(parts, turn, wanted) !== "unknown";
  const outcome =
    stuckOn(workspace.archive, repaired) ??
    (name === undefined
      ? ({ status: "nothing" } as const)
      : !known
        ? ({ status: "unknown", name } as const)
        : await workspace.takeBack({ direction, name, force }));
  const facts = takeBackFacts(workspace, direction, repaired === null ? outcome : { ...outcome, repaired });
  const done = facts.code === "done";
  if (facts.done.length > 0) turn.emit({ type: "undone", jobIds: facts.done.map(({ jobId }) => jobId) });
  return {
    ...answering(parts, [{ kind: "action", facts }], done, done ? "Worker" : ""),
    // What is in the way is for the person to clear first, and another chat's job is not for this one; everything else is answered by how the jobs are now.
    actions:
      outcome.status === "conflict" || outcome.status === "unknown" || name === undefined
        ? []
        : actionsFor(workspace.archive, name, chat.actions),
  };
}

/** The group of the newest change that stands, or of the one taken back last. */
function lastGroup(jobs: readonly StoredJob[], direction: "undo" | "redo"): string | undefined {
  const state = direction === "undo" ? "committed" : "undone";
  const ready = jobs.filter((job) => job.state === state && job.changes.length > 0 && job.kind !== "none");
  if (direction === "redo") ready.sort((a, b) => (a.stateAt < b.stateAt ? -1 : 1));
  return ready.at(-1)?.groupId;
}
