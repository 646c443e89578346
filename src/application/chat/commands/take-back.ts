import type { Change } from "../../../domain/patch/result.ts";
import type { StoredJob } from "../../ports/jobs.ts";
import { actionsFor } from "../../work/present-actions.ts";
import { changeLines } from "../../work/report/change-lines.ts";
import { describeConflict } from "../../work/report/describe-conflict.ts";
import type { TakeBack } from "../../work/take-back.ts";
import type { ChatCommand, ChatParts } from "../parts.ts";
import type { Answer } from "../turn.ts";
import { jobsOfChat, namedJobs } from "./own-jobs.ts";

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
  const { chat, messages, workspace } = parts;
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const force = words.includes("--force");
  const wanted = words.find((word) => !word.startsWith("-"));
  const nothing = direction === "undo" ? chat.nothingToUndo : chat.nothingToRedo;
  let name: string | undefined;
  if (wanted === undefined) {
    name = lastGroup(jobsOfChat(parts, turn), direction);
    if (name === undefined) return said(nothing, false);
  } else {
    const jobs = namedJobs(parts, turn, wanted);
    if (jobs === "unknown") return said(messages.unknownJob(wanted), false);
    if (jobs === "not-yours") return said(chat.notYourJob(wanted), false);
    name = wanted;
  }
  const outcome = await workspace.takeBack({ direction, name, force });
  const done = outcome.status === "done" ? outcome.jobs : "before" in outcome ? outcome.before : [];
  if (done.length > 0) turn.emit({ type: "undone", jobIds: done.map(({ job }) => job.jobId) });
  const changes = done.flatMap((one) => one.changes.map((change) => seenFrom(direction, change)));
  const lines: string[] = [];
  if (done.length > 0) {
    const files = new Set(changes.map(({ path }) => path)).size;
    lines.push(direction === "undo" ? chat.undone(files) : chat.redone(files));
    lines.push(changeLines(messages, changes));
    for (const { job, left } of done) {
      const refs = left.filter(({ reason }) => reason === "moved-on").map(({ path }) => path);
      if (refs.length > 0) lines.push(messages.undonePartly({ jobId: job.jobId, refs }));
      const kept = left.filter(({ reason }) => reason === "not-empty").map(({ path }) => path);
      if (kept.length > 0) lines.push(messages.foldersKept(kept));
    }
    lines.push(done.map(({ job }) => chat.undoneJob(job.jobId)).join("\n"));
    const named = done.length === 1 ? done[0]!.job.jobId : name;
    lines.push(direction === "undo" ? chat.redoHint(named) : chat.undoHint(named));
  }
  const trouble = explain(parts, outcome, direction);
  if (trouble !== "") lines.push(trouble);
  const actions = actionsFor(workspace.archive, name, chat.actions);
  return {
    ...said(lines.filter((line) => line !== "").join("\n\n"), outcome.status === "done"),
    // What is in the way is for the person to clear first; everything else is answered by how the jobs are now.
    actions: outcome.status === "conflict" ? [] : actions,
  };
}

const INVERSE = { added: "deleted", deleted: "added", modified: "modified" } as const;

/** To take back a file that was added is to delete it. */
function seenFrom(direction: "undo" | "redo", { path, kind }: Change): Change {
  return { path, kind: direction === "undo" ? INVERSE[kind] : kind };
}

/** The group of the newest change that stands, or of the one taken back last. */
function lastGroup(jobs: readonly StoredJob[], direction: "undo" | "redo"): string | undefined {
  const state = direction === "undo" ? "committed" : "undone";
  const ready = jobs.filter((job) => job.state === state && job.changes.length > 0 && job.kind !== "none");
  if (direction === "redo") ready.sort((a, b) => (a.stateAt < b.stateAt ? -1 : 1));
  return ready.at(-1)?.groupId;
}

function explain(
  { chat, messages, workspace }: ChatParts,
  outcome: TakeBack,
  direction: "undo" | "redo",
): string {
  switch (outcome.status) {
    case "done":
      return "";
    case "nothing":
      return direction === "undo" ? chat.nothingToUndo : chat.nothingToRedo;
    case "unknown":
      return messages.unknownJob(outcome.name);
    case "conflict": {
      const paths = outcome.conflicts.map((conflict) => describeConflict(messages, conflict));
      return direction === "undo" ? chat.undoConflict(paths) : chat.redoConflict(paths);
    }
    case "refused": {
      const { jobId, pid } = outcome.job;
      switch (outcome.reason) {
        case "busy":
          return messages.workspaceBusy(workspace.root);
        case "running":
          return pid !== undefined && workspace.isAlive(pid)
            ? messages.jobRunning(jobId, pid)
            : messages.jobDied(jobId);
        case "evicted":
          return messages.undoUnavailable(jobId);
        case "not-undoable":
          return `${messages.undoUnavailable(jobId)} ${messages.shellNotUndoable}`;
        case "wrong-state":
          return messages.wrongState(jobId, outcome.state);
      }
    }
  }
}

function said(text: string, ok: boolean): Answer {
  return { text, ok, agent: ok ? "Worker" : "", jobs: [] };
}
