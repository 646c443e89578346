import { messagesFor } from "../../domain/texts/messages.ts";
import { actionsFor } from "../jobs/present-actions.ts";
import { discardFacts, previewFacts } from "../jobs/action-report.ts";
import { say } from "./reply-words.ts";
import { waitingPreview } from "../jobs/waiting-preview.ts";
import { answerInEveryLanguage, createAnswer } from "./answering.ts";
import type { ChatCommand, ChatDeps } from "./chat-turn.ts";
import type { ChatTurn } from "./turn.ts";
import { actOnFarJob, findFarJob, jobsOfChat, namedJobs } from "./chat-commands.ts";

/** A preview is a job; in a group it is the one that waits. */
function nameJobs(parts: ChatDeps, turn: ChatTurn, name: string) {
  const jobs = namedJobs(parts, turn, name);
  return typeof jobs === "string" ? jobs : (jobs.find(({ state }) => state === "staged") ?? jobs.at(-1));
}

/** `/dry on|off`: whether this chat's proposals are only shown. */
export const dry: ChatCommand = async (parts, turn, rest) => {
  const word = rest.trim().toLowerCase();
  if (word === "") return createAnswer(parts, [say("dryState", turn.dry), say("dryUsage")], true);
  if (word !== "on" && word !== "off") return createAnswer(parts, [say("dryUsage")], false);
  await parts.sessions.saveSettings(turn.message, { dry: word === "on" });
  return createAnswer(parts, [say("dryState", word === "on")], true);
};

/** `/apply [job]`: brings in exactly what the preview showed. */
export const apply: ChatCommand = async (parts, turn, rest) => {
  const { chat, workspace } = parts;
  const wanted = rest.trim();
  const far = await findFarJob(parts, turn, wanted);
  if (far !== null) return actOnFarJob(parts, far, "apply");
  const job =
    wanted === ""
      ? jobsOfChat(parts, turn).findLast(({ state }) => state === "staged")
      : nameJobs(parts, turn, wanted);
  if (job === undefined) return createAnswer(parts, [say("noPreview")], false);
  const name = job === "unknown" ? wanted : job.jobId;
  const outcome = job === "unknown" ? ({ status: "unknown" } as const) : await workspace.commitPreview(name);
  const facts = previewFacts(workspace, name, outcome);
  const done = facts.code === "done";
  return {
    ...createAnswer(parts, [{ kind: "action", facts }], done),
    actions: done ? actionsFor(workspace.archive, name, chat.actions) : [],
  };
};

/** `/discard [job]`: throws a preview away; unnamed, the only one that waits, because it cannot be brought back. */
export const discard: ChatCommand = async (parts, turn, rest) => {
  const { workspace } = parts;
  const wanted = rest.trim();
  const far = await findFarJob(parts, turn, wanted);
  if (far !== null) return actOnFarJob(parts, far, "discard");
  const job = wanted === "" ? waitingPreview(jobsOfChat(parts, turn)) : nameJobs(parts, turn, wanted);
  if (job !== undefined && job !== "unknown" && "several" in job)
    return answerInEveryLanguage(parts, (locale) => messagesFor(locale).previewsWait(job.several), false);
  const name = job === undefined || job === "unknown" ? wanted : job.jobId;
  const outcome =
    job === undefined || job === "unknown"
      ? ({ status: job ?? "nothing" } as const)
      : await workspace.discardPreview(name);
  const facts = discardFacts(workspace, name, outcome);
  return createAnswer(parts, [{ kind: "action", facts }], facts.code === "done");
};
