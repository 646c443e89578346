import { countFiles, nameJob, toJobStatus } from "../../domain/jobs/result.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { nearestName } from "../../domain/platform/nearest.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { type HistoryMessages, historyMessagesFor } from "../../domain/texts/history.ts";
import { type Messages, messagesFor } from "../../domain/texts/jobs.ts";
import { wordStatus } from "../../domain/texts/jobs-report.ts";
import { type JobReason, readFileLine } from "../history/find-why.ts";
import { diffText, toListedJob } from "../jobs/job-facts.ts";
import type { FarJob, OwnCommand, ReplyChoice } from "../ports/chat.ts";
import type { FileDifference, StoredJob } from "../ports/jobs.ts";
import {
  findFarJob,
  isBuiltIn,
  jobsOfChat,
  jobsVisibleTo,
  namedJobs,
  ownCommandFile,
} from "./chat-commands.ts";
import {
  type Answer,
  answerInEveryLanguage,
  type ChatBase,
  type ChatCommands,
  createAnswer,
  type JobDeps,
  type LookCommand,
  type LookRequest,
} from "./chat-turn.ts";
import { say } from "./reply-words.ts";

const MOST_LISTED_JOBS = 10;
const DIFF_LINES = 400;

/** `/jobs`: the last jobs of this chat; of the whole workspace where the asker may see them. */
export const jobs: LookCommand<JobDeps> = async (deps, turn) => {
  const list = jobsVisibleTo(deps, turn).slice(-MOST_LISTED_JOBS).reverse();
  if (list.length === 0) return createAnswer([say("noJobs")], true);
  return {
    ...answerInEveryLanguage((locale) =>
      list.map((job) => `${labelJob(job)}  ${describeJob(deps, messagesFor(locale), job)}`).join("\n"),
    ),
    choices: jobChoices(deps, turn, () => true),
  };
};

const MOST_OFFERED_JOBS = 100;

/** A job's number in the workspace and its time, as every list of jobs shows them. */
function labelJob(job: StoredJob): string {
  return `${nameJob(job)}  ${localTime(job.createdAt).slice(5, 16)}`;
}

function jobChoices(
  deps: JobDeps,
  turn: LookRequest,
  isWanted: (job: StoredJob) => boolean,
): readonly ReplyChoice[] {
  return jobsVisibleTo(deps, turn)
    .filter(isWanted)
    .slice(-MOST_OFFERED_JOBS)
    .reverse()
    .map((job) => ({
      label: labelJob(job),
      description: `${wordJobStatus(deps, deps.messages, job)} · ${job.title}`,
      message: `/diff ${job.jobId}`,
    }));
}

export function wordJobStatus({ workspace }: JobDeps, messages: Messages, job: StoredJob): string {
  const alive = job.pid === undefined || workspace.isAlive(job);
  return wordStatus(messages, {
    status: toJobStatus(toListedJob(job), alive),
    failedCmds: job.failedCmds,
  });
}

function describeJob(deps: JobDeps, messages: Messages, job: StoredJob): string {
  return `${wordJobStatus(deps, messages, job)}  ${messages.changesHeader(countFiles(job.changes))}  ${job.title}`;
}

/** `/diff [job or group]`: what the last message's jobs changed, or the named ones. */
export const diff: LookCommand<JobDeps> = async (deps, turn, rest) => {
  const { workspace } = deps;
  const name = rest.trim();
  let chosen: StoredJob[];
  if (name === "") {
    const own = jobsOfChat(deps, turn).filter(({ changes }) => changes.length > 0);
    const group = own.at(-1)?.groupId;
    chosen = own.filter(({ groupId }) => groupId === group);
  } else {
    const named = namedJobs(deps, turn, name);
    const far = named === "unknown" ? await findFarJob(deps, turn, name) : null;
    if (far !== null) return farDiff(deps, far);
    if (named === "unknown")
      return answerInEveryLanguage((locale) => messagesFor(locale).unknownJob(name, "chat"), false);
    chosen = named;
  }
  let text = "";
  for (const { jobId } of chosen) text += await chatDiff(workspace.archive.walkDifferences(jobId));
  const answer = shownDiff(deps, text);
  if (name !== "") return answer;
  return { ...answer, choices: jobChoices(deps, turn, ({ changes }) => changes.length > 0) };
};

/** The files of git's own folder are only counted: after a commit they would hide the change itself. */
async function chatDiff(differences: Iterable<FileDifference>): Promise<string> {
  let gitFiles = 0;
  function* ownDifferences() {
    for (const difference of differences)
      if (difference.path.startsWith(".git/")) gitFiles += 1;
      else yield difference;
  }
  const text = await diffText(ownDifferences());
  return gitFiles === 0 ? text : `${text}# .git: ${gitFiles} ${gitFiles === 1 ? "file" : "files"} changed\n`;
}

async function farDiff(deps: JobDeps, { machine, differences }: FarJob): Promise<Answer> {
  const found = await differences();
  if (found === null)
    return answerInEveryLanguage((locale) => messagesFor(locale).machineAway(machine), false);
  return shownDiff(deps, await chatDiff(found));
}

function shownDiff(deps: JobDeps, text: string): Answer {
  if (text.trim() === "") return createAnswer([say("noDiff")], true);
  const lines = deps.workspace.mask(text).trimEnd().split("\n");
  const cut = lines.length - DIFF_LINES;
  const shown = cut > 0 ? lines.slice(0, DIFF_LINES) : lines;
  const fence = shown.some((one) => one.includes("```")) ? "~~~~" : "```";
  const block = `${fence}diff\n${shown.join("\n")}\n${fence}`;
  return createAnswer([{ kind: "text", text: block }, ...(cut > 0 ? [say("diffCut", cut)] : [])], true);
}

/** `/why FILE:LINE`, or a removed text: the job that wrote it, with the words of jobs that this chat may see. */
export const whyLine: LookCommand<JobDeps> = async (deps, turn, rest) => {
  // Unsaved text of an editor follows below.
  const [asked = ""] = rest.trim().split("\n");
  const history = await deps.openHistory?.();
  const named = readFileLine(asked);
  const word = (tell: (texts: HistoryMessages) => string, ok: boolean) =>
    answerInEveryLanguage((locale) => deps.workspace.mask(tell(historyMessagesFor(locale))), ok);
  if (history === undefined) return word((texts) => texts.whyUsage, false);
  const whyDeps = history.why();
  const [{ findWhy, findRemoved }, { wordWhy, wordRemoved }] = await Promise.all([
    import("../history/find-why.ts"),
    import("../history/word-why.ts"),
  ]);
  const mayRead = (job: JobReason): JobReason =>
    namedJobs(deps, turn, job.jobId) === "unknown" ? { ...job, request: "", title: "", plan: "" } : job;
  if (named === null) {
    const found = (await findRemoved(whyDeps, asked)).map((one) => ({ ...one, job: mayRead(one.job) }));
    return word((texts) => wordRemoved(texts, asked, found), found.length > 0);
  }
  const why = await findWhy(whyDeps, named.path, named.line);
  const origin = why.ok && why.origin.kind === "job" ? { ...why.origin, job: mayRead(why.origin.job) } : null;
  const shown = why.ok && origin !== null ? { ...why, origin } : why;
  return word((texts) => wordWhy(texts, named.path, shown), why.ok);
};

/** `/help`: the ten that are needed most; `/help all`: every one. */
export const help: LookCommand<ChatBase & ChatCommands> = async (deps, _, rest) => {
  const isWhole = /^(?:all|全部|すべて)$/iu.test(rest.trim());
  const own = deps.ownCommands.list();
  const [hidden, usable] = [true, false].map((wanted) =>
    own.filter(({ name }) => isBuiltIn(deps, name) === wanted),
  ) as [OwnCommand[], OwnCommand[]];
  return answerInEveryLanguage((locale) => {
    const words = chatMessagesFor(locale);
    const rows = [
      ...words.help,
      ...(isWhole ? words.helpMore : [words.helpAll]),
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

/** Names that other programs use for these commands. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  push: "pr",
  revert: "undo",
  rollback: "undo",
  history: "jobs",
  log: "jobs",
  show: "diff",
  settings: "config",
  quit: "exit",
};

/** The known command that a mistyped one is likeliest to mean. */
export function nearestCommand(name: string, known: readonly string[]): string | undefined {
  const other = ownMember(OTHER_NAMES, name);
  return other !== undefined && known.includes(other) ? other : nearestName(name, known);
}
