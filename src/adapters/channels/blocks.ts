import type { Outgoing } from "../../application/ports/channel.ts";
import { splitText } from "../../domain/texts/format-text.ts";
import type { SlackMessages } from "../../domain/texts/texts.ts";
import { type JobAction, jobNamedInButton } from "../../domain/jobs/job-actions.ts";
import { escapeSlack, toMrkdwn } from "./slack-text.ts";

const SECTION_CHARS = 2900;
const SECTIONS = 5;
const BUTTONS = 5;
const LABEL_CHARS = 75;
const FALLBACK_CHARS = 300;

export const ACTION = "picoclaw";

export type Block =
  | { readonly type: "section"; readonly text: { readonly type: "mrkdwn"; readonly text: string } }
  | {
      readonly type: "context";
      readonly elements: readonly { readonly type: "mrkdwn"; readonly text: string }[];
    }
  | {
      readonly type: "actions";
      readonly elements: readonly {
        readonly type: "button";
        readonly action_id: string;
        readonly text: { readonly type: "plain_text"; readonly text: string };
        readonly value: string;
        readonly style?: "danger";
      }[];
    };

export interface SlackRendering {
  /** For notifications and screen readers. */
  readonly text: string;
  readonly blocks: readonly Block[];
  /** What does not fit, whole, for a file. */
  readonly file: string | null;
}

/** A reply in Block Kit: the text in sections, who answered, and buttons. Past five sections the whole is a file. */
export function toBlocks(content: Outgoing, texts: SlackMessages): SlackRendering {
  const text = content.kind === "notice" ? content.text : content.reply.text;
  const pieces = splitText(toMrkdwn(text) || "…", SECTION_CHARS);
  const long = pieces.length > SECTIONS;
  const sections = (long ? [...pieces.slice(0, 1), texts.wholeText] : pieces).map(section);
  return {
    text: escapeSlack(text.slice(0, FALLBACK_CHARS).toWellFormed()) || "…",
    blocks: [...sections, ...footer(content), ...actionBlocks(toActionButtons(content))],
    file: long ? text : null,
  };
}

export function section(text: string): Block {
  return { type: "section", text: { type: "mrkdwn", text } };
}

function footer(content: Outgoing): Block[] {
  if (content.kind !== "reply") return [];
  const { model, decision, usage } = content.reply;
  const facts = [
    ...(decision === undefined ? [] : [decision.route]),
    ...(model === undefined ? [] : [`${model.provider}/${model.model} (${model.local ? "local" : "cloud"})`]),
    ...(usage === undefined ? [] : [`${usage.inputTokens + usage.outputTokens} tokens`]),
    ...(usage === undefined || usage.costUsd === 0 ? [] : [`$${usage.costUsd.toFixed(4)}`]),
  ];
  return facts.length === 0
    ? []
    : [{ type: "context", elements: [{ type: "mrkdwn", text: facts.join(" · ") }] }];
}

function toActionButtons(content: Outgoing): readonly JobAction[] {
  return content.kind === "reply" ? content.reply.actions : [];
}

/**
 * The blocks of a message whose button was pressed, with the buttons that its answer has for the same job; null when
 * the answer has none, so that they stay as they are.
 */
export function redrawActions(blocks: readonly Block[], content: Outgoing): Block[] | null {
  const actions = toActionButtons(content);
  const name = jobNamedInButton(actions[0]?.message ?? "");
  if (name === null) return null;
  const others = blocks
    .flatMap((block) => (block.type === "actions" ? block.elements : []))
    .filter(({ value }) => jobNamedInButton(value) !== name)
    .map(({ text, value }) => ({ label: text.text, message: value }));
  return [...blocks.filter(({ type }) => type !== "actions"), ...actionBlocks([...actions, ...others])];
}

function actionBlocks(all: readonly JobAction[]): Block[] {
  const actions = all.slice(0, BUTTONS);
  if (actions.length === 0) return [];
  return [
    {
      type: "actions",
      elements: actions.map(({ label, message }, i) => ({
        type: "button",
        action_id: `${ACTION}:${i}`,
        text: { type: "plain_text", text: label.slice(0, LABEL_CHARS) },
        value: message,
        ...(message.startsWith("/undo") && { style: "danger" as const }),
      })),
    },
  ];
}
