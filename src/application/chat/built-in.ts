import { readRoute } from "../../domain/config/route.ts";
import type { ChatDeps } from "./chat-turn.ts";

/** The commands of `registry.ts`, apart from it: `/help` is one of them and names them. */
export const BUILT_IN = [
  "undo",
  "redo",
  "rewind",
  "apply",
  "discard",
  "dry",
  "jobs",
  "diff",
  "help",
] as const;

/** Every command that a chat understands, without the routes. */
export function commandNames(parts: Pick<ChatDeps, "commands">): string[] {
  return [...new Set([...BUILT_IN, ...Object.keys(parts.commands), "preview", "stop"])].sort();
}

/** PicoClaw's own commands and routes cannot be replaced. */
export function isBuiltIn(parts: Pick<ChatDeps, "commands">, name: string): boolean {
  return readRoute(name) !== undefined || commandNames(parts).includes(name);
}
