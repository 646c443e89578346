import type { ChatKey } from "../../application/ports/serve.ts";
import type { NewWork } from "../../application/ports/work-queue.ts";
import { hashHex } from "../platform/hash.ts";
import { storable } from "../store/storable.ts";

/** Where the work of one workspace is found: messages to answer, replies to send, orders about its jobs. */
export interface WorkspaceQueues {
  readonly messages: string;
  readonly replies: string;
  readonly control: string;
}

export function workspaceQueues(workspace: string): WorkspaceQueues {
  const place = hashHex("sha256", workspace).slice(0, 16);
  return { messages: `messages.${place}`, replies: `replies.${place}`, control: `control.${place}` };
}

/** Longer keys would not fit into an index. */
const LONGEST_KEY = 500;

/** One chat of one workspace. */
function chatKeyOf(workspace: string, { channel, chatId }: ChatKey): string {
  const key = storable(JSON.stringify([workspace, channel, chatId]));
  return key.length <= LONGEST_KEY ? key : hashHex("sha256", key);
}

export interface MessageOfWork extends ChatKey {
  readonly id: string;
  readonly userId: string;
  readonly beside: boolean;
  readonly light: boolean;
}

export function workOfMessage(
  message: MessageOfWork,
  at: { readonly id: string; readonly queue: string; readonly workspace: string },
): NewWork {
  const key = chatKeyOf(at.workspace, message);
  return {
    id: at.id,
    queue: at.queue,
    // What does not wait for its turn has a line of its own.
    key: message.beside ? hashHex("sha256", `${key} ${message.id}`) : key,
    group: workGroupOf(message.channel, message.userId),
    ref: message.id,
    light: message.light,
  };
}

export function workOfReply(
  reply: ChatKey & { readonly key: string; readonly userId: string },
  at: { readonly id: string; readonly queue: string; readonly workspace: string },
): NewWork {
  const { channel, userId } = reply;
  return {
    id: at.id,
    queue: at.queue,
    key: chatKeyOf(at.workspace, reply),
    group: workGroupOf(channel, userId),
    ref: reply.key,
    light: false,
  };
}

export function workGroupOf(channel: string, userId: string): string {
  const group = storable(`${channel}:${userId}`);
  return group.length <= LONGEST_KEY ? group : hashHex("sha256", group);
}
