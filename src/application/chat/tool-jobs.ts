import type { Change } from "../../domain/jobs/result.ts";
import { jobActions, jobNamedInButton } from "../../domain/jobs/job-actions.ts";
import type { Reply } from "../ports/conversation.ts";
import type { JobArchive, StoredJob } from "../ports/jobs.ts";
import { type JobFacts, storedFacts } from "../jobs/job-facts.ts";
import type { LoopFacts, OutwardFacts, ReplyPiece } from "./reply-words.ts";
import { type ResultJson, toResultJson } from "../jobs/result-json.ts";
import type { ChatDeps } from "./chat-turn.ts";

/** A tool call that a model made, and what came of it. */
export interface MadeCall {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
  readonly jobId?: string;
  readonly server?: string;
  /** The host that was asked. */
  readonly web?: string;
}

/** Jobs of one message, oldest first. */
export function jobsOfGroup(archive: JobArchive, groupId: string): StoredJob[] {
  return archive.list().filter((job) => job.groupId === groupId);
}

export interface ToolFacts {
  /** What became of the workspace; none where the loop changed nothing there. */
  readonly status: readonly ReplyPiece[];
  readonly rest: ReplyPiece;
  readonly actions: Reply["actions"];
  readonly jobs: readonly ResultJson[];
}

/** What a tool loop changed, from the jobs it made: the model's own words are not asked. */
export function toolFacts(
  { messages, chat, workspace }: Pick<ChatDeps, "messages" | "chat" | "workspace">,
  jobs: readonly StoredJob[],
  calls: readonly MadeCall[],
): ToolFacts {
  const facts = jobs.map((job) => storedFacts(job, workspace.archive.events(job.jobId), true));
  const committed = jobs.filter(({ state, changes }) => state === "committed" && changes.length > 0);
  const outward = calls.filter(({ server }) => server !== undefined);
  const actions = jobActions(committed, chat.actions);
  const failedCmds = committed.reduce((sum, job) => sum + job.failedCmds, 0);
  return {
    status: committed.length === 0 ? [] : [{ kind: "loop-status", failedCmds }],
    rest: loopFacts({
      changes: mergeChanges(committed),
      outward: outward.length === 0 ? null : toOutwardFacts(outward),
      evictions: facts
        .filter(({ evicted }) => evicted.length > 0)
        .map(({ evicted, quotaBytes }) => ({ evicted, quotaBytes })),
      guarded: [...new Set(facts.flatMap(guardedPaths))],
      undo: jobNamedInButton(actions[0]?.message ?? ""),
    }),
    actions,
    jobs: facts.map((one) => toResultJson(messages, one)),
  };
}

/** New files of its commands that match a protected pattern. */
function guardedPaths({ commands }: JobFacts): readonly string[] {
  return commands
    .flatMap(({ notes }) => notes)
    .flatMap((note) => (typeof note === "object" && note.code === "protected-created" ? note.paths : []));
}

export function loopFacts(known: Partial<LoopFacts>): LoopFacts {
  return { kind: "loop", changes: [], outward: null, evictions: [], undo: null, ...known };
}

/** How many calls of MCP servers succeeded, and the first that failed. */
export function toOutwardFacts(calls: readonly MadeCall[]): OutwardFacts {
  const failed = calls.filter(({ ok }) => !ok);
  const [first] = failed;
  return {
    succeeded: calls.length - failed.length,
    total: calls.length,
    ...(first !== undefined && { error: `${first.name}: ${firstWords(first.text)}` }),
  };
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
