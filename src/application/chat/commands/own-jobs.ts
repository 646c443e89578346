import type { StoredJob } from "../../ports/jobs.ts";
import type { ChatParts } from "../parts.ts";
import { type ChatTurn, groupPrefix } from "../turn.ts";

/** The owner's own places; elsewhere a chat sees and takes back only its own jobs. */
const OWNER_CHANNELS = new Set(["cli", "web"]);

/** Jobs made by this chat, oldest first. */
export function jobsOfChat({ worker }: Pick<ChatParts, "worker">, turn: ChatTurn): StoredJob[] {
  const prefix = groupPrefix(turn.sessionKey);
  return worker.archive.list().filter(({ groupId }) => groupId.startsWith(prefix));
}

/** A job by its id, when this chat may have it. */
export function namedJob(
  { worker }: Pick<ChatParts, "worker">,
  turn: ChatTurn,
  jobId: string,
): StoredJob | "unknown" | "not-yours" {
  const job = worker.archive.list().find((one) => one.jobId === jobId);
  if (job === undefined) return "unknown";
  const own = job.groupId.startsWith(groupPrefix(turn.sessionKey));
  return own || OWNER_CHANNELS.has(turn.message.channel) ? job : "not-yours";
}
