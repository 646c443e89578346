import { chatKeyOf } from "../../application/ports/chat.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import {
  type Flags,
  printable,
  printJson,
  refuseInput,
  refuseWork,
  type Subcommand,
  succeed,
} from "./command.ts";
import { closing, openOrStop } from "./flags.ts";
import { type CliProgram, EXIT, type OpenChatFolder } from "./program.ts";

const SHOWN_CHARACTERS = 50;

/** `chat --list`: the chats of every workspace, the one that was used last first. */
export async function listChats(program: CliProgram, { chat, chats }: OpenChatFolder): Promise<number> {
  const list = await chats.list();
  if (program.json) {
    const rows = list.map(({ lastAt, lastText, ...one }) => ({
      ...one,
      last_at: lastAt,
      last_text: lastText,
    }));
    return printJson(program, { chats: rows });
  }
  const { columnsOf } = await import("./terminal-text.ts");
  const { chatsHeader: header } = chat;
  const rows = [
    [header.name, header.at, header.messages, header.said, header.workspace],
    ...list.map(({ name, workspace, messages, lastAt, lastText }) => [
      name,
      localTime(lastAt),
      String(messages),
      [...lastText].slice(0, SHOWN_CHARACTERS).join(""),
      workspace,
    ]),
  ];
  program.out(`${list.length === 0 ? chat.noChats : printable(columnsOf(rows))}\n`);
  return EXIT.done;
}

/** `chat --forget NAME`. */
export async function forgetChat(
  program: CliProgram,
  { chat, chats }: OpenChatFolder,
  name: string,
): Promise<number> {
  switch (await chats.forget(name)) {
    case "forgotten":
      return succeed(program, { success: true, name }, chat.chatForgotten(name));
    case "unknown":
      return refuseInput(program, "chat", chat.noSuchChat(name));
    case "busy":
      return refuseWork(program, "busy", chat.chatBusy(name));
  }
}

const CHAT_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** `--name NAME` continues that chat; `--fork OTHER` starts it with the context of another chat. */
export async function chooseChat(
  { chat, fork }: OpenChatFolder,
  { name = "default", fork: from }: Flags["values"],
): Promise<{ readonly ok: true; readonly chatId: string } | { readonly ok: false; readonly text: string }> {
  for (const given of [name, from])
    if (typeof given === "string" && !CHAT_NAME.test(given))
      return { ok: false, text: chat.badChatName(given) };
  const chatId = String(name);
  if (typeof from !== "string") return { ok: true, chatId };
  switch (await fork({ channel: "cli", chatId: from }, { channel: "cli", chatId })) {
    case "forked":
      return { ok: true, chatId };
    case "unknown":
      return { ok: false, text: chat.noSuchChat(from) };
    case "taken":
      return { ok: false, text: chat.chatTaken(chatId) };
  }
}

/** `export [--name CHAT] [--html]`: a conversation at a terminal as one document. */
export const exportCommand: Subcommand = {
  name: "export",
  usage: "export",
  flags: "--name= --html",
  run: exportChat,
};

async function exportChat(program: CliProgram, { values }: Flags): Promise<number> {
  const open = program.openChat;
  const opened = await openOrStop(program, values, (options) => open({ ...options, isOnce: true }));
  await using _ = closing(opened);
  const form = values.html === true ? "html" : "md";
  const name = String(values.name ?? "default");
  const text = await opened.exportTalk(chatKeyOf("cli", name), form);
  if (text === null) return refuseInput(program, "chat", opened.chat.noSuchChat(name));
  if (program.json) return printJson(program, { form, text });
  program.out(printable(text));
  return EXIT.done;
}
