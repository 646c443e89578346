import { localTime } from "../../../domain/texts/local-time.ts";
import { type Messages, messagesFor } from "../../../domain/texts/messages.ts";
import { chatMessagesFor } from "../../../domain/texts/texts.ts";
import { statusOf } from "../../../domain/work/job-status.ts";
import type { StoredJob } from "../../ports/jobs.ts";
import type { OwnCommand } from "../../ports/own-commands.ts";
import { diffText } from "../../work/report/diff-text.ts";
import { listed } from "../../work/report/job-json.ts";
import { say } from "../../work/report/said.ts";
import { wordStatus } from "../../work/report/word-job.ts";
import { answering, wording } from "../answering.ts";
import type { FarJob } from "../far-jobs.ts";
import type { ChatParts, LookCommand } from "../parts.ts";
import type { Answer } from "../turn.ts";
import { isBuiltIn } from "./built-in.ts";
import { farJob, jobsInSight, jobsOfChat, namedJobs } from "./own-jobs.ts";
import { fileOf } from "./own-request.ts";

const LISTED = 10;
const DIFF_LINES = 400;

/** `/jobs`: the last jobs of this chat; of the whole workspace where whoever asks may have them. */
export const jobs: LookCommand = async (parts, turn) => {
  const list = jobsInSight(parts, turn).slice(-LISTED).reverse();
  if (list.length === 0) return answering(parts, [say("noJobs")], true);
  return wording(parts, (locale) => list.map((job) => line(parts, messagesFor(locale), job)).join("\n"));
};

function line({ workspace }: ChatParts, messages: Messages, job: StoredJob): string {
  const alive = job.pid === undefined || workspace.isAlive(job);
  const status = wordStatus(messages, { status: statusOf(listed(job), alive), failedCmds: job.failedCmds });
  const at = localTime(job.createdAt).slice(5, 16);
  return `${job.jobId}  ${at}  ${status}  ${messages.changesHeader(job.changes.length)}  ${job.title}`;
}

/** `/diff [job or group]`: what the last message's jobs changed, or the named ones. */
export const diff: LookCommand = async (parts, turn, rest) => {
  const { workspace } = parts;
  const name = rest.trim();
  let chosen: StoredJob[];
  if (name === "") {
    const own = jobsOfChat(parts, turn).filter(({ changes }) => changes.length > 0);
    const group = own.at(-1)?.groupId;
    chosen = own.filter(({ groupId }) => groupId === group);
  } else {
    const named = namedJobs(parts, turn, name);
    const far = named === "unknown" ? await farJob(parts, turn, name) : null;
    if (far !== null) return farDiff(parts, far);
    if (named === "unknown") return wording(parts, (locale) => messagesFor(locale).unknownJob(name), false);
    chosen = named;
  }
  let text = "";
  for (const { jobId } of chosen) text += await diffText(workspace.archive.differences(jobId));
  return shownDiff(parts, text);
};

async function farDiff(parts: ChatParts, { machine, differences }: FarJob): Promise<Answer> {
  const found = await differences();
  if (found === null) return wording(parts, (locale) => messagesFor(locale).machineAway(machine), false);
  return shownDiff(parts, await diffText(found));
}

function shownDiff(parts: ChatParts, text: string): Answer {
  if (text.trim() === "") return answering(parts, [say("noDiff")], true);
  const lines = parts.workspace.mask(text).trimEnd().split("\n");
  const cut = lines.length - DIFF_LINES;
  const shown = cut > 0 ? lines.slice(0, DIFF_LINES) : lines;
  const fence = shown.some((one) => one.includes("```")) ? "~~~~" : "```";
  const block = `${fence}diff\n${shown.join("\n")}\n${fence}`;
  return answering(parts, [{ kind: "text", text: block }, ...(cut > 0 ? [say("diffCut", cut)] : [])], true);
}

/** `/help`. */
export const help: LookCommand = async (parts) => {
  const own = parts.ownCommands.list();
  const [hidden, usable] = [true, false].map((wanted) =>
    own.filter(({ name }) => isBuiltIn(parts, name) === wanted),
  ) as [OwnCommand[], OwnCommand[]];
  return wording(parts, (locale) => {
    const words = chatMessagesFor(locale);
    const rows = [
      ...words.help,
      ...usable.map(({ name, description }) => [`/${name}`, description] as const),
    ];
    return [
      ...rows.map(([command, what]) => (what === "" ? command : `${command} — ${what}`)),
      ...usable.flatMap((one) => (one.trouble === null ? [] : [words.ownTrouble(fileOf(one), one.trouble)])),
      ...hidden.map((one) => words.ownHidden(fileOf(one), one.name)),
    ].join("\n");
  });
};
