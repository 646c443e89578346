import { describeEvent } from "../../application/chat/describe-event.ts";
import { type ReplyPiece, wordReply } from "../../application/chat/reply-words.ts";
import type { ChatEvent, Reply, Route } from "../../application/ports/chat.ts";
import { ROUTES, readRoute } from "../../domain/config/configured-kinds.ts";
import { toShownJson } from "../../domain/platform/json-text.ts";
import type { ChatMessages } from "../../domain/texts/chat.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { replyJson } from "../web/reply-json.ts";
import {
  type Flags,
  onSignals,
  printable,
  refuseInput,
  refuseUsage,
  STOPPING,
  type Subcommand,
} from "./command.ts";
import { closing, openOrStop, Stop } from "./flags.ts";
import { type CliProgram, EXIT, type OpenChatFolder } from "./program.ts";
import { createLiveLine, waitedWords } from "./progress-line.ts";
import { prepareFolder } from "./repair-first.ts";
import type * as Markdown from "./terminal-markdown.ts";

const CLEAR = "\r\x1b[K";

interface ProgressStyle {
  readonly streams: boolean;
  /** Loaded where a person reads at a terminal. */
  readonly markdown: typeof Markdown | null;
}

/** For one message: words as they come on standard output, what happens on one line of standard error. */
export function createChatProgress(
  program: CliProgram,
  chat: ChatMessages,
  { streams, markdown }: ProgressStyle,
) {
  const watched = streams && program.errIsTerminal;
  const begun = performance.now();
  let doing = "";
  let said = "";
  const live = createLiveLine(program, {
    enabled: watched,
    // Text on standard output takes the place of the progress line.
    render: () => (doing === "" || said !== "" ? "" : `… ${doing}${waitedWords(begun)}`),
  });
  const printer = markdown?.createMarkdownPrinter(program.columns());
  const styled = (text: string) => markdown?.renderMarkdown(text, program.columns()) ?? text;
  return {
    /** True when the event was a part of the reply and is shown already. */
    event(event: ChatEvent): boolean {
      switch (event.type) {
        case "notice":
          if (streams) live.print(printable(event.text));
          return false;
        case "text":
          if (!streams || !program.outIsTerminal) return false;
          if (watched && said === "") program.err(CLEAR);
          said += event.text;
          program.out(printer?.add(printable(event.text)) ?? printable(event.text));
          return true;
        default: {
          const words = watched ? describeEvent(event, chat) : "";
          if (words !== "") doing = words;
          if (words !== "") live.draw();
          return false;
        }
      }
    },
    end: live.end,
    reply(reply: Reply, streamed: boolean): void {
      if (streamed && printer !== undefined) program.out(printer.end());
      const text = printable(reply.text);
      // The streamed text is already printed; the rest (a note, a budget's warning) follows.
      const rest =
        streamed && text.startsWith(printable(said).trim())
          ? text.slice(printable(said).trim().length)
          : text;
      program.out(
        streamed && rest !== text ? `${styled(rest)}\n` : `${streamed ? "\n\n" : ""}${styled(text)}\n`,
      );
      if (watched && reply.model !== undefined && reply.usage !== undefined) {
        const { provider, model, local } = reply.model;
        const tokens = reply.usage.inputTokens + reply.usage.outputTokens;
        program.err(
          `\x1b[2m${chat.footer({ model: `${provider}/${model}`, local, tokens, cachedTokens: reply.usage.cachedTokens, costUsd: reply.usage.costUsd })}\x1b[0m\n`,
        );
      }
    },
  };
}

/** `chat [MESSAGE|-]`: one message, or an interactive conversation at a terminal. */
export const command: Subcommand = {
  name: "chat",
  usage: "chat [MESSAGE|-]",
  flags: "--route= --events --name= --fork= --list --forget= --plain",
  words: 1000,
  run: (program, flags) => chat(program, flags, null),
};

/** `picoclaw "MESSAGE"` at a terminal: the conversation opens with it. */
export function chatFrom(program: CliProgram, message: string | null): Promise<number> {
  return chat(program, { values: {}, words: [] }, message);
}

async function chat(program: CliProgram, { values, words }: Flags, first: string | null): Promise<number> {
  const stays =
    words.length === 0 &&
    program.inIsTerminal &&
    program.outIsTerminal &&
    !program.json &&
    values.events !== true &&
    values.list !== true &&
    values.forget === undefined;
  let route: Route | undefined;
  if (typeof values.route === "string") {
    route = readRoute(values.route);
    if (route === undefined)
      return refuseUsage(program, messagesFor(program.locale).badChoice("--route", values.route, ROUTES));
  }
  if (stays)
    return (await import("./open-conversation.ts")).openConversation(program, values, { route, first });
  const opened = await openOrStop(program, values, (options) =>
    program.openChat({ ...options, isOnce: true }),
  );
  await using _ = closing(opened);
  const { chooseChat, forgetChat, listChats } = await import("./chats.ts");
  if (typeof values.forget === "string") return await forgetChat(program, opened, values.forget);
  if (values.list === true) return await listChats(program, opened);
  await prepareFolder(program, opened);
  const named = await chooseChat(opened, values);
  if (!named.ok) return refuseInput(program, "chat", named.text);
  const isPiped = words.length === 0 || (words.length === 1 && words[0] === "-");
  const text = first ?? (isPiped ? readMessage(program) : words.join(" "));
  if (text === null || text.trim() === "") {
    const said = text === null ? opened.chat.notText : opened.chat.emptyMessage;
    return refuseInput(program, "no-message", said);
  }
  const { chatId } = named;
  return await sendOne(program, opened, text, { chatId, events: values.events === true, route });
}

/** Null: what standard input holds is not text. */
function readMessage(program: CliProgram): string | null {
  if (program.inIsTerminal) return "";
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(program.readInput());
    return text.includes("\0") ? null : text;
  } catch (error) {
    if ((error as { code?: string }).code !== "EFBIG") return null;
    const messages = messagesFor(program.locale);
    const text = messages.fileTrouble("too-large", messages.standardInput);
    throw new Stop(refuseInput(program, "no-message", text));
  }
}

interface ChatOutput {
  readonly chatId: string;
  readonly events: boolean;
  readonly route: Route | undefined;
}

/** Whether files are worth looking for. */
const MAY_NAME_IMAGE = /\.(?:png|jpe?g|gif|webp)/i;

async function sendOne(
  program: CliProgram,
  opened: OpenChatFolder,
  text: string,
  { chatId, events, route }: ChatOutput,
): Promise<number> {
  const { json } = program;
  const kept = MAY_NAME_IMAGE.test(text)
    ? await (await import("./message-files.ts")).keepImagesOfMessage(program, opened, chatId, text)
    : ({ ok: true, images: [] } as const);
  if (!kept.ok) {
    const words = opened.chat.imageTrouble(kept.trouble);
    return refuseInput(program, kept.trouble.kind, words);
  }
  const abort = new AbortController();
  using _ = onSignals(STOPPING, (signal) => abort.abort(signal));
  const line = (value: unknown) => program.out(`${toShownJson(value)}\n`);
  const progress = createChatProgress(program, opened.chat, {
    streams: !json && !events,
    markdown: program.outIsTerminal && !program.env.NO_COLOR ? await import("./terminal-markdown.ts") : null,
  });
  let streamed = false;
  let isAnswered = false;
  const onEvent = (event: ChatEvent) => {
    // Only a notice follows the one document.
    if (isAnswered && json && event.type === "notice") program.err(`${printable(event.text)}\n`);
    else if (events) line(event.type === "notice" ? { type: event.type, text: event.text } : event);
    else if (!json) streamed = progress.event(event) || streamed;
  };
  const answered = await opened.conversation.handle(
    {
      channel: "cli",
      chatId,
      userId: "cli",
      text,
      ...(kept.images.length > 0 && { images: kept.images }),
      ...(route !== undefined && { forcedRoute: route }),
    },
    { signal: abort.signal, onEvent },
  );
  // The reader is back in a shell, where `/undo` does not exist.
  const reply = { ...answered, text: wordReply(opened.messages.locale, answered, "terminal") };
  progress.end();
  isAnswered = true;
  if (events) line({ type: "reply", ...chatReplyJson(reply) });
  else if (json) line(chatReplyJson(reply));
  else progress.reply(reply, streamed);
  return abort.signal.reason === "SIGINT" ? EXIT.interrupted : exitCodeOf(reply);
}

/** The reply as the world reads it: snake_case, one document. */
export function chatReplyJson(reply: Reply): Record<string, unknown> {
  return { success: reply.ok, text: reply.text, ...replyJson(reply) };
}

/** A message that no agent could answer is refused. A job or a call that ran and failed is a failure, even if its draft was discarded. */
function exitCodeOf({ ok, jobs, brokenJob, said = [] }: Reply): number {
  if (ok) return EXIT.done;
  const isRun = (piece: ReplyPiece) =>
    piece.kind === "coder" || (piece.kind === "loop" && piece.outward !== null);
  return jobs.length > 0 || brokenJob !== undefined || said.some(isRun) ? EXIT.failed : EXIT.refused;
}
