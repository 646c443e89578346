import type { StoredJob } from "../../ports/jobs.ts";
import { jobsNamed } from "../../work/present-actions.ts";
import type { ChatParts } from "../parts.ts";
import { groupPrefix, type Look } from "../turn.ts";

/** Jobs made by this chat, oldest first. */
export function jobsOfChat({ workspace }: Pick<ChatParts, "workspace">, turn: Look): StoredJob[] {
  const prefix = groupPrefix(turn.sessionKey);
  return workspace.archive.list().filter(({ groupId }) => groupId.startsWith(prefix));
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
  const own = first.groupId.startsWith(groupPrefix(turn.sessionKey));
  return own || isOwner(turn, first) ? jobs : "unknown";
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
