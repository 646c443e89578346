import type { ChatCommand, ChatParts, LookCommand } from "../parts.ts";
import type { BUILT_IN } from "./built-in.ts";

/** Those that only look. */
const LOOKS = {
  jobs: async () => (await import("./look.ts")).jobs,
  diff: async () => (await import("./look.ts")).diff,
  help: async () => (await import("./look.ts")).help,
} as const;

/** One line a command; each is imported when it is sent. `/preview` and `/stop` are the conversation's own. */
const COMMANDS: Readonly<Record<(typeof BUILT_IN)[number], () => Promise<ChatCommand>>> = {
  undo: async () => (await import("./take-back.ts")).undo,
  redo: async () => (await import("./take-back.ts")).redo,
  rewind: async () => (await import("./rewind.ts")).rewind,
  apply: async () => (await import("./steer.ts")).apply,
  discard: async () => (await import("./steer.ts")).discard,
  dry: async () => (await import("./steer.ts")).dry,
  ...LOOKS,
};

export async function findCommand(parts: ChatParts, name: string): Promise<ChatCommand | undefined> {
  if (Object.hasOwn(parts.commands, name)) return parts.commands[name];
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name as keyof typeof COMMANDS]() : undefined;
}

export function isLook(parts: Pick<ChatParts, "looks">, name: string): boolean {
  return Object.hasOwn(parts.looks, name) || Object.hasOwn(LOOKS, name);
}

export async function findLook(parts: ChatParts, name: string): Promise<LookCommand | undefined> {
  if (Object.hasOwn(parts.looks, name)) return parts.looks[name];
  return Object.hasOwn(LOOKS, name) ? LOOKS[name as keyof typeof LOOKS]() : undefined;
}
