import { localTime } from "../../domain/texts/local-time.ts";
import { type Messages, messagesFor } from "../../domain/texts/messages.ts";
import { chatMessagesFor } from "../../domain/texts/texts.ts";
import { toJobStatus } from "../../domain/jobs/job-status.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { OwnCommand } from "../ports/own-commands.ts";
import { diffText } from "../jobs/diff-text.ts";
import { toListedJob } from "../jobs/job-json.ts";
import { say } from "./reply-words.ts";
import { wordStatus } from "../jobs/job-report.ts";
import { answerInEveryLanguage, createAnswer } from "./answering.ts";
import type { FarJob } from "./far-jobs.ts";
import type { ChatDeps, LookCommand } from "./chat-turn.ts";
import type { Answer } from "./turn.ts";
import { isBuiltIn } from "./built-in.ts";
import { findFarJob, jobsOfChat, jobsVisibleTo, namedJobs } from "./chat-commands.ts";
import { ownCommandFile } from "./own-request.ts";

const MOST_LISTED_JOBS = 10;
const DIFF_LINES = 400;

/** `/jobs`: the last jobs of this chat; of the whole workspace where whoever asks may have them. */
export const jobs: LookCommand = async (parts, turn) => {
  const list = jobsVisibleTo(parts, turn).slice(-MOST_LISTED_JOBS).reverse();
  if (list.length === 0) return createAnswer(parts, [say("noJobs")], true);
  return answerInEveryLanguage(parts, (locale) =>
    list.map((job) => jobLine(parts, messagesFor(locale), job)).join("\n"),
  );
};

function jobLine({ workspace }: ChatDeps, messages: Messages, job: StoredJob): string {
  const alive = job.pid === undefined || workspace.isAlive(job);
  const status = wordStatus(messages, {
    status: toJobStatus(toListedJob(job), alive),
    failedCmds: job.failedCmds,
  });
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
    const far = named === "unknown" ? await findFarJob(parts, turn, name) : null;
    if (far !== null) return farDiff(parts, far);
    if (named === "unknown")
      return answerInEveryLanguage(parts, (locale) => messagesFor(locale).unknownJob(name), false);
    chosen = named;
  }
  let text = "";
  for (const { jobId } of chosen) text += await diffText(workspace.archive.differences(jobId));
  return shownDiff(parts, text);
};

async function farDiff(parts: ChatDeps, { machine, differences }: FarJob): Promise<Answer> {
  const found = await differences();
  if (found === null)
    return answerInEveryLanguage(parts, (locale) => messagesFor(locale).machineAway(machine), false);
  return shownDiff(parts, await diffText(found));
}

function shownDiff(parts: ChatDeps, text: string): Answer {
  if (text.trim() === "") return createAnswer(parts, [say("noDiff")], true);
  const lines = parts.workspace.mask(text).trimEnd().split("\n");
  const cut = lines.length - DIFF_LINES;
  const shown = cut > 0 ? lines.slice(0, DIFF_LINES) : lines;
  const fence = shown.some((one) => one.includes("```")) ? "~~~~" : "```";
  const block = `${fence}diff\n${shown.join("\n")}\n${fence}`;
  return createAnswer(
    parts,
    [{ kind: "text", text: block }, ...(cut > 0 ? [say("diffCut", cut)] : [])],
    true,
  );
}

/** `/help`. */
export const help: LookCommand = async (parts) => {
  const own = parts.ownCommands.list();
  const [hidden, usable] = [true, false].map((wanted) =>
    own.filter(({ name }) => isBuiltIn(parts, name) === wanted),
  ) as [OwnCommand[], OwnCommand[]];
  return answerInEveryLanguage(parts, (locale) => {
    const words = chatMessagesFor(locale);
    const rows = [
      ...words.help,
      ...usable.map(({ name, description }) => [`/${name}`, description] as const),
    ];
    return [
      ...rows.map(([command, what]) => (what === "" ? command : `${command} — ${what}`)),
      ...usable.flatMap((one) =>
        one.trouble === null ? [] : [words.ownTrouble(ownCommandFile(one), one.trouble)],
      ),
      ...hidden.map((one) => words.ownHidden(ownCommandFile(one), one.name)),
    ].join("\n");
  });
};
