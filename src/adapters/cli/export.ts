import { chatKeyOf } from "../../application/ports/chat.ts";
import { type Flags, printable, refuseInput, type Subcommand } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `export [--name CHAT] [--html]`: a conversation at a terminal as one document. */
export const command: Subcommand = {
  name: "export",
  usage: "export",
  flags: { name: "string", html: "boolean" },
  run: exportChat,
};

async function exportChat(program: CliProgram, { values, json }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, (options) =>
    program.openChat({ ...options, isOnce: true }),
  );
  try {
    const form = values.html === true ? "html" : "md";
    const name = String(values.name ?? "default");
    const text = await opened.exportTalk(chatKeyOf("cli", name), form);

    if (text === null) return refuseInput(program, json, "chat", opened.chat.noSuchChat(name));
    program.out(json ? `${JSON.stringify({ form, text })}\n` : printable(text));
    return EXIT.done;
  } finally {
    await opened.close();
  }
}
