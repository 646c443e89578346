import type { Route } from "../../application/ports/chat.ts";
import { terminalMessagesFor } from "../../domain/texts/cli-terminal.ts";
import type { Flags } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";

interface ConversationWish {
  readonly route: Route | undefined;
  /** Sent as soon as the conversation is open. */
  readonly first: string | null;
}

/**
 * The conversation at a terminal: with a screen of its own where the terminal can show one, else as lines. The prompt is drawn
 * before anything else is loaded, so nothing here is imported that only an open workspace needs.
 */
export async function openConversation(
  program: CliProgram,
  values: Flags["values"],
  { route, first }: ConversationWish,
): Promise<number> {
  const { env } = program;
  const isPlain = values.plain === true || (env.PICOCLAW_PLAIN ?? "") !== "" || env.TERM === "dumb";
  const texts = terminalMessagesFor(program.locale);
  if (isPlain) {
    const found = await openFolder(program, program, values);
    if (typeof found === "number") return found;
    const { conversePlainly } = await import("./chat-plain.ts");
    return conversePlainly(program, found.opened, { texts, chatId: found.chatId, route, first });
  }
  const { converse } = await import("./converse.ts");
  const troubles: string[] = [];
  let wish = values;
  const code = await converse(program, {
    texts,
    route,
    first,
    open: (say) => {
      const quiet: CliProgram = { ...program, err: (text) => say(text.trimEnd()) };
      // An error that ends the program is printed once the shell has the terminal again.
      const loud: CliProgram = { ...program, err: (text) => troubles.push(text) };
      return openFolder(loud, quiet, wish, () => {
        // The chat is opened again after `/login`, and a fork is made once.
        wish = { ...values, fork: undefined };
        for (const warning of troubles.splice(0)) say(warning.trimEnd());
      });
    },
  });
  for (const text of troubles) program.err(text);
  return code;
}

/** The chat of the folder that the flags mean; a number is the exit code of a program that could not open it, and said why. */
async function openFolder(
  program: CliProgram,
  prepares: CliProgram,
  values: Flags["values"],
  isOpen: () => void = () => {},
) {
  const { openOrStop, Stop } = await import("./flags.ts");
  const opened = await openOrStop(program, values, program.openChat).catch((error: unknown) => {
    if (error instanceof Stop) return error.exitCode;
    throw error;
  });
  if (typeof opened === "number") return opened;
  isOpen();
  const { prepareFolder } = await import("./repair-first.ts");
  await prepareFolder(prepares, opened);
  const { chooseChat } = await import("./chats.ts");
  const named = await chooseChat(opened, values);
  if (named.ok) return { opened, chatId: named.chatId };
  program.err(`${named.text}\n`);
  await opened.close();
  return EXIT.usage;
}
