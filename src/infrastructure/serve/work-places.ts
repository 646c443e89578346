import { hashHex } from "../platform/hash.ts";
import { storable } from "../store/schema.ts";

export type WorkspaceQueues = ReturnType<typeof workspaceQueues>;

export function workspaceQueues(workspace: string) {
  const place = hashHex("sha256", workspace).slice(0, 16);
  return { messages: `messages.${place}`, replies: `replies.${place}`, control: `control.${place}` };
}

/** Longer keys would not fit into an index. */
const LONGEST_KEY = 500;

export function toIndexedText(text: string): string {
  const key = storable(text);
  return key.length <= LONGEST_KEY ? key : hashHex("sha256", key);
}

/** The key of the work of one chat, `<channel>:<chatId>`, in one workspace. */
export function workKeyOfChat(workspace: string, chatKey: string): string {
  return toIndexedText(JSON.stringify([workspace, chatKey]));
}
