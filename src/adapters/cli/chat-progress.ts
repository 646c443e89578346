import type { ChatEvent, Reply } from "../../application/ports/conversation.ts";
import type { ChatMessages } from "../../domain/texts/texts.ts";
import { describeEvent } from "../../application/chat/describe-event.ts";
import { printable } from "./printable.ts";
import type { CliProgram } from "./program.ts";
import type * as Markdown from "./terminal-markdown.ts";

const CLEAR = "\r\x1b[K";
const COLUMNS = 100;

export interface ChatProgress {
  /** True when the event was a part of the reply and is shown already. */
  event(event: ChatEvent): boolean;
  end(): void;
  reply(reply: Reply, streamed: boolean): void;
}

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
): ChatProgress {
  const watched = streams && program.errIsTerminal;
  const status = (text: string) => {
    if (watched) program.err(`${CLEAR}${visible(text).slice(0, Math.min(COLUMNS, program.columns() - 1))}`);
  };
  let said = "";
  const printer = markdown?.createMarkdownPrinter(program.columns());
  const styled = (text: string) => markdown?.renderMarkdown(text, program.columns()) ?? text;
  return {
    event(event) {
      switch (event.type) {
        case "notice":
          if (streams) program.err(`${watched ? CLEAR : ""}${printable(event.text)}\n`);
          return false;
        case "text":
          if (!streams || !program.outIsTerminal) return false;
          if (watched && said === "") program.err(CLEAR);
          said += event.text;
          program.out(printer?.add(printable(event.text)) ?? printable(event.text));
          return true;
        default: {
          const doing = watched ? describeEvent(event, chat) : "";
          if (doing !== "") status(`… ${doing}`);
          return false;
        }
      }
    },
    end: () => {
      if (watched) program.err(CLEAR);
    },
    reply(reply, streamed) {
      if (streamed && printer !== undefined) program.out(printer.end());
      const text = printable(reply.text);
      // What was streamed stands there already; the rest (a note, a budget's warning) follows.
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
          `\x1b[2m${chat.footer({ model: `${provider}/${model}`, local, tokens, costUsd: reply.usage.costUsd })}\x1b[0m\n`,
        );
      }
    },
  };
}

function visible(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
}
