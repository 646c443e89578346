import type { messagingApi } from "@line/bot-sdk";
import type { Outgoing } from "../../application/ports/channel.ts";
import { splitText } from "../../domain/texts/format-text.ts";
import type { LineMessages } from "../../domain/texts/texts.ts";

/** LINE's own limits. */
const TEXT_UNITS = 5000;
const MESSAGES_AT_ONCE = 5;
const QUICK_REPLIES = 13;
const LABEL_UNITS = 20;
const DATA_UNITS = 300;

export const COLLECT = "picoclaw:collect";

export interface LineWording {
  readonly texts: LineMessages;
  /** Where the console shows a job; null when it has no address that others reach. */
  readonly jobUrl: (jobId: string) => string | null;
}

/** A reply as LINE shows it: plain text in pieces, differences cut short, buttons under the last piece. */
export function toLineMessages(content: Outgoing, wording: LineWording): messagingApi.TextMessage[] {
  const text = content.kind === "notice" ? content.text : content.reply.text;
  const job = content.kind === "reply" ? content.reply.jobs.at(-1) : undefined;
  const link = job === undefined ? null : wording.jobUrl(job.job_id);
  const pieces = splitText(toPlainText(text) || "…", TEXT_UNITS);
  const kept = pieces.slice(0, MESSAGES_AT_ONCE);
  if (pieces.length > MESSAGES_AT_ONCE) {
    const last = kept.pop() ?? "";
    const more =
      link === null ? wording.texts.cutHere : `${wording.texts.cutHere}\n${wording.texts.seeConsole(link)}`;
    kept.push(`${last.slice(0, TEXT_UNITS - more.length - 1).toWellFormed()}\n${more}`);
  }
  const buttons = content.kind === "reply" ? content.reply.actions.map(toQuickReply) : [];
  return kept.map((piece, i) => ({
    type: "text",
    text: piece,
    ...(i === kept.length - 1 &&
      buttons.length > 0 && { quickReply: { items: buttons.slice(0, QUICK_REPLIES) } }),
  }));
}

/** The message that spends a reply token before it runs out. */
export function interimMessage(texts: LineMessages): messagingApi.TextMessage {
  return {
    type: "text",
    text: texts.stillWorking,
    quickReply: { items: [toQuickReply({ label: texts.collect, message: COLLECT })] },
  };
}

function toQuickReply({
  label,
  message,
}: {
  readonly label: string;
  readonly message: string;
}): messagingApi.QuickReplyItem {
  return {
    type: "action",
    action: {
      type: "postback",
      label: label.slice(0, LABEL_UNITS),
      data: message.slice(0, DATA_UNITS),
      displayText: label,
    },
  };
}

const DIFF_LINES = 12;

/** LINE shows no Markdown: marks go, code stays, a long difference keeps its beginning. */
function toPlainText(text: string): string {
  return text
    .replace(/^(`{3,}|~{3,})(\w*)\n([\s\S]*?)^\1 *$/gm, (_, _fence, language: string, body: string) => {
      const lines = body.trimEnd().split("\n");
      if (language !== "diff" || lines.length <= DIFF_LINES) return body.trimEnd();
      return `${lines.slice(0, DIFF_LINES).join("\n")}\n…`;
    })
    .replace(/^#{1,6} +/gm, "")
    .replace(/\*\*([^*\n]+)\*\*/g, "$1")
    .replace(/`([^`\n]+)`/g, "$1")
    .trim();
}
