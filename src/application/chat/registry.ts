import type { ChatCommand, ChatDeps, LookCommand } from "./chat-turn.ts";
import type { BUILT_IN } from "./built-in.ts";

/** Those that only look. */
const LOOK_COMMANDS = {
  jobs: async () => (await import("./look-commands.ts")).jobs,
  diff: async () => (await import("./look-commands.ts")).diff,
  help: async () => (await import("./look-commands.ts")).help,
} as const;

/** One line a command; each is imported when it is sent. `/preview` and `/stop` are the conversation's own. */
const TURN_COMMANDS: Readonly<Record<(typeof BUILT_IN)[number], () => Promise<ChatCommand>>> = {
  undo: async () => (await import("./take-back.ts")).undo,
  redo: async () => (await import("./take-back.ts")).redo,
  rewind: async () => (await import("./job-commands.ts")).rewind,
  apply: async () => (await import("./steer.ts")).apply,
  discard: async () => (await import("./steer.ts")).discard,
  dry: async () => (await import("./steer.ts")).dry,
  ...LOOK_COMMANDS,
};

export async function findCommand(parts: ChatDeps, name: string): Promise<ChatCommand | undefined> {
  if (Object.hasOwn(parts.commands, name)) return parts.commands[name];
  return Object.hasOwn(TURN_COMMANDS, name) ? TURN_COMMANDS[name as keyof typeof TURN_COMMANDS]() : undefined;
}

export function isLook(parts: Pick<ChatDeps, "looks">, name: string): boolean {
  return Object.hasOwn(parts.looks, name) || Object.hasOwn(LOOK_COMMANDS, name);
}

export async function findLook(parts: ChatDeps, name: string): Promise<LookCommand | undefined> {
  if (Object.hasOwn(parts.looks, name)) return parts.looks[name];
  return Object.hasOwn(LOOK_COMMANDS, name) ? LOOK_COMMANDS[name as keyof typeof LOOK_COMMANDS]() : undefined;
}
