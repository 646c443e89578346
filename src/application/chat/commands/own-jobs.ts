import type { StoredJob } from "../../ports/jobs.ts";
import { jobsNamed } from "../../work/present-actions.ts";
import { answering } from "../answering.ts";
import type { FarJob } from "../far-jobs.ts";
import type { ChatParts } from "../parts.ts";
import { type Answer, groupPrefix, type Look } from "../turn.ts";

/** Jobs made by this chat, oldest first. */
export function jobsOfChat({ workspace }: Pick<ChatParts, "workspace">, turn: Look): StoredJob[] {
  const prefix = groupPrefix(turn.sessionKey);
  return workspace.archive.list().filter(({ groupId }) => groupId.startsWith(prefix));
}

/** Jobs that this chat may have, whoever made them; oldest first. */
export function jobsInSight({ workspace }: Pick<ChatParts, "workspace">, turn: Look): StoredJob[] {
  return workspace.archive.list().filter((job) => mayHave(turn, job));
}

/** A job by its id or the jobs of a group. What this chat may not have is not known to it. */
export function namedJobs(
  { workspace }: Pick<ChatParts, "workspace">,
  turn: Look,
  name: string,
): StoredJob[] | "unknown" {
  const jobs = jobsNamed(workspace.archive, name);
  const [first] = jobs;
  if (first === undefined) return "unknown";
  return mayHave(turn, first) ? jobs : "unknown";
}

/** A job that another machine holds, by its id. */
export async function farJob(
  { farJobs }: Pick<ChatParts, "farJobs">,
  turn: Look,
  name: string,
): Promise<FarJob | null> {
  const found = (await farJobs?.(turn.message, name)) ?? null;
  return found !== null && mayHave(turn, found.job) ? found : null;
}

/** The answer to what was asked of it. */
export async function actFar(
  parts: ChatParts,
  far: FarJob,
  action: Parameters<FarJob["act"]>[0],
  force = false,
): Promise<Answer> {
  const facts = await far.act(action, force);
  const done = facts.code === "done";
  return answering(parts, [{ kind: "action", facts }], done, done ? "Worker" : "");
}

function mayHave(turn: Look, job: StoredJob): boolean {
  return job.groupId.startsWith(groupPrefix(turn.sessionKey)) || isOwner(turn, job);
}

/**
 * At a terminal, in an editor, and to the operator at the console, every job belongs; to anybody else at the console those of all
 * their chats, which are called as they are or `<person>.<something>`. Elsewhere a chat has only its own.
 */
function isOwner({ message: { channel, userId } }: Look, { groupId }: StoredJob): boolean {
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
