import { maskSecrets } from "../../domain/platform/mask.ts";
import type { CliProgram, OpenedChat } from "./program.ts";
import type { SlashCommand } from "./terminal-input.ts";

const KEPT_LINES = 500;

/**
 * The commands with what they do: those of the help, the routes, and the user's own. First what was typed most in the
 * `history` of the line, then in the order of the help, which begins with what is needed most.
 */
export function slashCommands(
  { chat, commands, ownCommands }: Extract<OpenedChat, { ok: true }>,
  history: readonly string[],
): SlashCommand[] {
  const described = new Map<string, { description: string; takesWords: boolean }>();
  for (const [usage, description] of [...chat.help, ...chat.helpMore]) {
    const takesWords =
      /\S/.test(usage.replace(/\[.*?\]|\/[\w-]+/g, "")) || /^\/(?:code|analyze|chat)/.test(usage);
    for (const name of usage.match(/(?<=\/)[a-z]\w*/g) ?? [])
      if (!described.has(name)) described.set(name, { description, takesWords });
  }
  for (const { name, description } of ownCommands.list())
    described.set(name, { description, takesWords: false });
  const used = new Map<string, number>();
  for (const line of history) {
    const name = /^\/([\w-]+)/.exec(line)?.[1] ?? "";
    used.set(name, (used.get(name) ?? 0) + 1);
  }
  const order = [...described.keys()];
  const placeOf = (name: string) => (described.has(name) ? order.indexOf(name) : order.length);
  return commands
    .toSorted((a, b) => (used.get(b) ?? 0) - (used.get(a) ?? 0) || placeOf(a) - placeOf(b))
    .map((name) => ({ name, description: "", takesWords: false, ...described.get(name) }));
}

/** The input history, oldest first; a file that cannot be read counts as empty. */
export function readHistory(program: CliProgram): string[] {
  try {
    const text = new TextDecoder().decode(program.readFile(program.chatHistory.file));
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown)
      .filter((line) => typeof line === "string")
      .slice(-KEPT_LINES);
  } catch {
    return [];
  }
}

/** A key that follows may have any shape. */
const LOGIN_WITH_WORDS = /^\s*\/login\s+\S/i;

/** Saved with access for the user only, and without keys; a failure to save is ignored. */
export function saveHistory(
  program: CliProgram,
  history: readonly string[],
  mask: (text: string) => string = maskSecrets,
): void {
  const kept = history.filter((text) => !LOGIN_WITH_WORDS.test(text)).slice(-KEPT_LINES);
  const lines = kept.map((text) => JSON.stringify(mask(text)));
  program.chatHistory.save(`${lines.join("\n")}\n`);
}
