import { nameJob, toJobStatus } from "../../domain/jobs/result.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { fenceText, localTime } from "../../domain/texts/format-text.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { wordStatus } from "../../domain/texts/jobs-report.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { toReason } from "../history/find-why.ts";
import { wordWork } from "../history/word-why.ts";
import { diffText, toListedJob } from "../jobs/job-facts.ts";
import type { SessionStore, TalkDocument, TalkJob } from "../ports/chat.ts";
import type { FileDifference, StoredJob } from "../ports/jobs.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";

export interface TalkDeps {
  readonly sessions: Pick<SessionStore, "list" | "turns">;
  readonly workspace: Pick<Workspace, "archive" | "isAlive" | "mask" | "root">;
}

const MOST_SESSIONS = 100;
/** The newest ones of a chat. */
const MOST_TURNS = 2_000;

/** Everything that is kept of a chat, oldest first, each answer with its jobs. Null: nothing was said in it. */
export async function readTalk(
  { sessions, workspace }: TalkDeps,
  chatKey: string,
  locale: Locale,
): Promise<TalkDocument | null> {
  const { archive, mask, root } = workspace;
  const known = (await sessions.list(chatKey, MOST_SESSIONS)).reverse();
  const read = await Promise.all(
    known.map(({ id }) => sessions.turns(chatKey, id, { after: 0, limit: MOST_TURNS })),
  );
  const said = read.flatMap(({ turns }) => turns).slice(-MOST_TURNS);
  if (said.length === 0) return null;
  const jobs = Map.groupBy(archive.list(), ({ groupId }) => groupId);
  const { exported } = chatMessagesFor(locale);
  const turns = said.map(({ at, role, agent, text, groupId }) => ({
    who: role === "user" ? exported.you : agent === "" ? "PicoClaw" : agent,
    role,
    at,
    text: mask(text),
    jobs:
      role === "user" || groupId === null
        ? []
        : (jobs.get(groupId) ?? []).map((job) => toTalkJob(workspace, job, locale)),
  }));
  // A message that no model answered is stored with an empty answer.
  const held = turns.filter(({ text, jobs: ran }) => text.trim() !== "" || ran.length > 0);
  return { title: mask(exported.title(chatKey, root)), locale, turns: held };
}

function toTalkJob(
  { archive, isAlive, mask }: TalkDeps["workspace"],
  job: StoredJob,
  locale: Locale,
): TalkJob {
  const { jobId, title, failedCmds } = job;
  const work = toReason(job, jobId, archive.events(jobId));
  const status = toJobStatus(toListedJob(job), job.state === "running" && isAlive(job));
  return {
    name: nameJob(job),
    title: mask(title),
    status,
    verdict: wordStatus(messagesFor(locale), { status, failedCmds }),
    facts: work.attempts === 0 ? [] : wordWork(historyMessagesFor(locale), work).map(mask),
    differences: function* () {
      for (const { path, before, after } of archive.walkDifferences(jobId))
        if (!path.startsWith(".git/")) yield { path, before: masked(before), after: masked(after) };
    },
  };

  /** The whole text, so that a secret over several lines is found. */
  function masked(side: FileDifference["before"]): FileDifference["before"] {
    if (side == null || side.includes(0)) return side;
    return new TextEncoder().encode(mask(new TextDecoder().decode(side)));
  }
}

/** Quotes a message, so that no line of it passes for a heading or another speaker. */
export async function writeMarkdown({ title, turns }: TalkDocument): Promise<string> {
  const parts = [`# ${oneLine(title)}`];
  for (const { who, at, text, jobs } of turns) {
    parts.push(`## ${oneLine(who)} · ${localTime(at)}`, quoted(text));
    for (const job of jobs) {
      const diff = (await diffText(job.differences())).trimEnd();
      parts.push(
        `### ${job.verdict}: ${oneLine(job.title)}`,
        `\`${job.name}\``,
        quoted(job.facts.join("\n")),
      );
      if (diff !== "") parts.push(fenceText(diff, "diff"));
    }
  }
  return `${parts.filter((part) => part !== ">").join("\n\n")}\n`;
}

function quoted(text: string): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `> ${withoutTags(line)}`.trimEnd())
    .join("\n");
}

const oneLine = (text: string) => withoutTags(text.replace(/\s+/g, " ").trim());

/** A viewer of Markdown may take tags for HTML. */
const withoutTags = (text: string) => text.replace(/<(?=[a-z/!?])/gi, "&lt;");
