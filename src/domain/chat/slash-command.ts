import { type Route, readRoute } from "../config/route.ts";

export interface SlashCommand {
  /** Lower case, without the slash: `code3`, `undo`. */
  readonly name: string;
  /** What follows, untouched but for the space between. */
  readonly rest: string;
}

/** A slash, half or full width, then a word that ends where white space begins. */
const COMMAND = /^[\s\u3000\ufeff\u200b]*[/／]([A-Za-z0-9_\-Ａ-Ｚａ-ｚ０-９]+)(?:[\s\u3000]+(.*))?$/su;

/** The first token of a message, when it is a command. `/code30` is another word than `/code3`. */
export function readSlashCommand(message: string): SlashCommand | undefined {
  const found = COMMAND.exec(message);
  if (found === null) return undefined;
  return { name: found[1]!.normalize("NFKC").toLowerCase(), rest: (found[2] ?? "").trim() };
}

/** `/code3 …` names a route; `/coder`, `/code30` and `/undo` do not. */
export function readExplicitRoute(message: string): { route: Route; rest: string } | undefined {
  const command = readSlashCommand(message);
  const route = command && readRoute(command.name);
  return command && route ? { route, rest: command.rest } : undefined;
}
