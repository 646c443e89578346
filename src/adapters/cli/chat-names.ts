import { localTime } from "../../domain/texts/format-text.ts";
import { type Flags, printable, refuseInput, refuseWork, succeed } from "./command.ts";
import { type CliProgram, EXIT, type OpenedChat } from "./program.ts";

type OpenChatFolder = Pick<Extract<OpenedChat, { ok: true }>, "chat" | "chats">;

const SHOWN_CHARACTERS = 50;

/** `chat --list`: the chats of every workspace, the one that was used last first. */
export async function listChats(
  program: CliProgram,
  { chat, chats }: OpenChatFolder,
  json: boolean,
): Promise<number> {
  const list = await chats.list();
  if (json) {
    const rows = list.map(({ name, workspace, here, messages, lastAt, lastText }) => ({
      name,
      workspace,
      here,
      messages,
      last_at: lastAt,
      last_text: lastText,
    }));
    program.out(`${JSON.stringify({ chats: rows })}\n`);
    return EXIT.done;
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
  { name, json }: { readonly name: string; readonly json: boolean },
): Promise<number> {
  switch (await chats.forget(name)) {
    case "forgotten":
      return succeed(program, json, { success: true, name }, chat.chatForgotten(name));
    case "unknown":
      return refuseInput(program, json, "chat", chat.noSuchChat(name));
    case "busy":
      return refuseWork(program, json, "busy", chat.chatBusy(name));
  }
}

const CHAT_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** `--name NAME` continues that chat; `--fork OTHER` starts it with the context of another chat. */
export async function chooseChat(
  { chat, fork }: Extract<OpenedChat, { ok: true }>,
  values: Flags["values"],
): Promise<{ readonly ok: true; readonly chatId: string } | { readonly ok: false; readonly text: string }> {
  const { name = "default", fork: from } = values;
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
