import type { Route } from "../../application/ports/conversation.ts";
import { type CliProgram, EXIT, type OpenedChat } from "./program.ts";

/** The conversation at a terminal. */
export async function converse(
  program: CliProgram,
  opened: Extract<OpenedChat, { ok: true }>,
  _route: Route | undefined,
): Promise<number> {
  program.out(`${opened.chat.welcome}\n`);
  return EXIT.done;
}
