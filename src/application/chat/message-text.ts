import { readExplicitRoute } from "../../domain/chat/slash-command.ts";

/** Characters; more is a file, not a message. */
export const LONGEST_MESSAGE = 1_000_000;

/** Line ends made one, other control characters and lone surrogates taken out: they steer terminals and break requests. */
export function cleanMessage(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]/g, "")
    .toWellFormed();
}

const MOST_MESSAGE_PIECES = 5;

/**
 * A message that begins with a route's command may hold more of them, each at the start of a line: `/analyze …` and,
 * below it, `/code3 …`. Each part is answered by its own route, in order. Any other message is one part.
 */
export function splitMessage(message: string): string[] {
  if (readExplicitRoute(message) === undefined) return [message];
  const parts: string[][] = [];
  let fenced = false;
  for (const line of message.split("\n")) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const begins = !fenced && /^[/／]/.test(line) && readExplicitRoute(line) !== undefined;
    if (parts.length === 0 || (begins && parts.length < MOST_MESSAGE_PIECES)) parts.push([line]);
    else parts.at(-1)?.push(line);
  }
  return parts.map((lines) => lines.join("\n").trim()).filter((part) => part !== "");
}
