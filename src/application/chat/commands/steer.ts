import { actionsFor } from "../../work/present-actions.ts";
import { previewFacts } from "../../work/report/action-facts.ts";
import { wordAction } from "../../work/report/word-action.ts";
import type { ChatCommand, ChatParts } from "../parts.ts";
import type { Answer, ChatTurn } from "../turn.ts";
import { jobsOfChat, namedJobs } from "./own-jobs.ts";

/** A preview is a job; in a group it is the one that waits. */
function named(parts: ChatParts, turn: ChatTurn, name: string) {
  const jobs = namedJobs(parts, turn, name);
  return typeof jobs === "string" ? jobs : (jobs.find(({ state }) => state === "staged") ?? jobs.at(-1));
}

const said = (text: string, ok = true): Answer => ({ text, ok, agent: "", jobs: [] });

/** `/dry on|off`: whether this chat's proposals are only shown. */
export const dry: ChatCommand = async ({ chat, sessions }, turn, rest) => {
  const word = rest.trim().toLowerCase();
  if (word === "") return said(`${chat.dryState(turn.dry)}\n${chat.dryUsage}`);
  if (word !== "on" && word !== "off") return said(chat.dryUsage, false);
  await sessions.saveSettings(turn.message, { dry: word === "on" });
  return said(chat.dryState(word === "on"));
};

/** `/apply [job]`: brings in exactly what the preview showed. */
export const apply: ChatCommand = async (parts, turn, rest) => {
  const { chat, messages, workspace } = parts;
  const wanted = rest.trim();
  const job =
    wanted === ""
      ? jobsOfChat(parts, turn).findLast(({ state }) => state === "staged")
      : named(parts, turn, wanted);
  if (job === undefined) return said(chat.noPreview, false);
  if (job === "unknown") return said(messages.unknownJob(wanted), false);
  if (job === "not-yours") return said(chat.notYourJob(wanted), false);
  const { jobId } = job;
  const outcome = await workspace.commitPreview(jobId);
  const facts = previewFacts(workspace, jobId, outcome);
  const done = facts.code === "done";
  return {
    ...said(wordAction(messages, facts, "chat"), done),
    actions: done ? actionsFor(workspace.archive, jobId, chat.actions) : [],
  };
};
