import type { Change } from "../../domain/patch/result.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import { reportMessages } from "../../domain/texts/messages.ts";
import { jobActions, namedIn } from "../../domain/work/job-actions.ts";
import type { Reply } from "../ports/conversation.ts";
import type { JobArchive, StoredJob } from "../ports/jobs.ts";
import { changeLines } from "../work/report/change-lines.ts";
import { storedFacts } from "../work/report/job-facts.ts";
import { wordEviction, wordStatus } from "../work/report/word-job.ts";
import { type ResultJson, toResultJson } from "../work/result-json.ts";
import type { ChatParts } from "./parts.ts";

/** A tool call that a model made, and what came of it. */
export interface MadeCall {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
  readonly jobId?: string;
  readonly server?: string;
}

/** Jobs of one message, oldest first. */
export function jobsOfGroup(archive: JobArchive, groupId: string): StoredJob[] {
  return archive.list().filter((job) => job.groupId === groupId);
}

export interface ToolFacts {
  /** What became of the workspace; empty where the loop changed nothing there. */
  readonly status: string;
  readonly text: string;
  readonly actions: Reply["actions"];
  readonly jobs: readonly ResultJson[];
}

/** What a tool loop changed, from the jobs it made: the model's own words are not asked. */
export function describeToolJobs(
  { messages, chat, workspace }: Pick<ChatParts, "messages" | "chat" | "workspace">,
  jobs: readonly StoredJob[],
  calls: readonly MadeCall[],
): ToolFacts {
  const facts = jobs.map((job) => storedFacts(job, workspace.archive.events(job.jobId), true));
  const committed = jobs.filter(({ state, changes }) => state === "committed" && changes.length > 0);
  const outward = calls.filter(({ server }) => server !== undefined);
  const lines = [changeLines(messages, mergeChanges(committed))];
  if (outward.length > 0) lines.push(describeOutward(chat, outward));
  lines.push(...facts.filter(({ evicted }) => evicted.length > 0).map((one) => wordEviction(messages, one)));
  const actions = jobActions(committed, chat.actions);
  const name = namedIn(actions[0]?.message ?? "");
  if (name !== null) lines.push(reportMessages(messages.locale).undoHint.chat(name));
  return {
    status: committed.length === 0 ? "" : statusOfAll(messages, committed),
    text: lines.filter((line) => line !== "").join("\n\n"),
    actions,
    jobs: facts.map((one) => toResultJson(messages, one)),
  };
}

/** Jobs that changed something, as one: a failed command in any of them is said. */
function statusOfAll(messages: Messages, jobs: readonly StoredJob[]): string {
  const failedCmds = jobs.reduce((sum, job) => sum + job.failedCmds, 0);
  return wordStatus(messages, { status: failedCmds > 0 ? "partly" : "applied", failedCmds });
}

/** How many calls of MCP servers succeeded, and the first that failed. */
export function describeOutward(chat: ChatParts["chat"], calls: readonly MadeCall[]): string {
  const failed = calls.filter(({ ok }) => !ok);
  const total = calls.length;
  const succeeded = total - failed.length;
  const [first] = failed;
  const head =
    first === undefined
      ? chat.mcpCompleted({ succeeded, total })
      : chat.mcpPartly({
          succeeded,
          total,
          error: `${first.name}: ${firstWords(first.text)}`,
        });
  return `${head}\n${chat.browserNotUndoable}`;
}

/** The first line that says something: servers begin with headings and rules. */
export function firstWords(text: string): string {
  const line = text.split("\n").find((one) => /[\p{L}\p{N}]/u.test(one) && !one.startsWith("#"));
  return (line ?? text.split("\n", 1)[0] ?? "").trim().slice(0, 300);
}

/** The net change of several jobs, path by path. */
function mergeChanges(jobs: readonly StoredJob[]): Change[] {
  const net = new Map<string, Change["kind"] | null>();
  for (const { changes } of jobs) {
    for (const { path, kind } of changes) {
      const before = net.get(path);
      if (before === "added") net.set(path, kind === "deleted" ? null : "added");
      else if (before === "deleted" && kind === "added") net.set(path, "modified");
      else net.set(path, kind);
    }
  }
  return [...net].flatMap(([path, kind]) => (kind === null ? [] : [{ path, kind }]));
}
