import { statusOf } from "../../../domain/work/job-status.ts";
import type { StoredJob } from "../../ports/jobs.ts";
import { diffText } from "../../work/report/diff-text.ts";
import { listed } from "../../work/report/job-json.ts";
import { wordStatus } from "../../work/report/word-job.ts";
import type { ChatCommand, ChatParts } from "../parts.ts";
import type { Answer } from "../turn.ts";
import { jobsOfChat, namedJobs } from "./own-jobs.ts";

const LISTED = 10;
const DIFF_LINES = 400;

const said = (text: string, ok = true): Answer => ({ text, ok, agent: "", jobs: [] });

/** `/jobs`: the last jobs of this chat. */
export const jobs: ChatCommand = async (parts, turn) => {
  const list = jobsOfChat(parts, turn).slice(-LISTED).reverse();
  if (list.length === 0) return said(parts.chat.noJobs);
  return said(list.map((job) => line(parts, job)).join("\n"));
};

function line({ messages, workspace }: ChatParts, job: StoredJob): string {
  const alive = job.pid === undefined || workspace.isAlive(job.pid);
  const status = wordStatus(messages, { status: statusOf(listed(job), alive), failedCmds: job.failedCmds });
  const at = job.createdAt.slice(5, 16).replace("T", " ");
  return `${job.jobId}  ${at}  ${status}  ${messages.changesHeader(job.changes.length)}  ${job.title}`;
}

/** `/diff [job or group]`: what the last message's jobs changed, or the named ones. */
export const diff: ChatCommand = async (parts, turn, rest) => {
  const { chat, messages, workspace } = parts;
  const name = rest.trim();
  let chosen: StoredJob[];
  if (name === "") {
    const own = jobsOfChat(parts, turn).filter(({ changes }) => changes.length > 0);
    const group = own.at(-1)?.groupId;
    chosen = own.filter(({ groupId }) => groupId === group);
  } else {
    const named = namedJobs(parts, turn, name);
    if (named === "unknown") return said(messages.unknownJob(name), false);
    if (named === "not-yours") return said(chat.notYourJob(name), false);
    chosen = named;
  }
  let text = "";
  for (const { jobId } of chosen) text += await diffText(workspace.archive.differences(jobId));
  if (text.trim() === "") return said(chat.noDiff);
  const lines = workspace.mask(text).trimEnd().split("\n");
  const cut = lines.length - DIFF_LINES;
  const shown = cut > 0 ? lines.slice(0, DIFF_LINES) : lines;
  const fence = shown.some((one) => one.includes("```")) ? "~~~~" : "```";
  return said(`${fence}diff\n${shown.join("\n")}\n${fence}${cut > 0 ? `\n${chat.diffCut(cut)}` : ""}`);
};

/** `/help`. */
export const help: ChatCommand = async ({ chat }) =>
  said(chat.help.map(([command, what]) => `${command} — ${what}`).join("\n"));
