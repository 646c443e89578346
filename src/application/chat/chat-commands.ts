import type { StoredJob } from "../ports/jobs.ts";
import { jobsNamed } from "../jobs/present-actions.ts";
import { createAnswer } from "./answering.ts";
import type { FarJob } from "./far-jobs.ts";
import type { ChatDeps } from "./chat-turn.ts";
import { type Answer, groupPrefix, type LookRequest } from "./turn.ts";

/** Jobs made by this chat, oldest first. */
export function jobsOfChat({ workspace }: Pick<ChatDeps, "workspace">, turn: LookRequest): StoredJob[] {
  const prefix = groupPrefix(turn.sessionKey);
  return workspace.archive.list().filter(({ groupId }) => groupId.startsWith(prefix));
}

/** Jobs that this chat may have, whoever made them; oldest first. */
export function jobsVisibleTo({ workspace }: Pick<ChatDeps, "workspace">, turn: LookRequest): StoredJob[] {
  return workspace.archive.list().filter((job) => mayUseJob(turn, job));
}

/** A job by its id or the jobs of a group. What this chat may not have is not known to it. */
export function namedJobs(
  { workspace }: Pick<ChatDeps, "workspace">,
  turn: LookRequest,
  name: string,
): StoredJob[] | "unknown" {
  const jobs = jobsNamed(workspace.archive, name);
  const [first] = jobs;
  if (first === undefined) return "unknown";
  return mayUseJob(turn, first) ? jobs : "unknown";
}

/** A job that another machine holds, by its id. */
export async function findFarJob(
  { farJobs }: Pick<ChatDeps, "farJobs">,
  turn: LookRequest,
  name: string,
): Promise<FarJob | null> {
  const found = (await farJobs?.(turn.message, name)) ?? null;
  return found !== null && mayUseJob(turn, found.job) ? found : null;
}

/** The answer to what was asked of it. */
export async function actOnFarJob(
  parts: ChatDeps,
  far: FarJob,
  action: Parameters<FarJob["act"]>[0],
  force = false,
): Promise<Answer> {
  const facts = await far.act(action, force);
  const done = facts.code === "done";
  return createAnswer(parts, [{ kind: "action", facts }], done, done ? "Worker" : "");
}

function mayUseJob(turn: LookRequest, job: StoredJob): boolean {
  return job.groupId.startsWith(groupPrefix(turn.sessionKey)) || ownsJob(turn, job);
}

/**
 * At a terminal, in an editor, and to the operator at the console, every job belongs; to anybody else at the console those of all
 * their chats, which are called as they are or `<person>.<something>`. Elsewhere a chat has only its own.
 */
function ownsJob({ message: { channel, userId } }: LookRequest, { groupId }: StoredJob): boolean {
  if (isOwnersChannel(channel)) return true;
  if (channel !== "web") return false;
  return (
    userId === "operator" || groupId.startsWith(`web:${userId}#`) || groupId.startsWith(`web:${userId}.`)
  );
}

/** Channels that only the owner of this machine's account can speak on: the terminal, and the editor. */
export function isOwnersChannel(channel: string): boolean {
  return channel === "cli" || channel === "acp";
}
