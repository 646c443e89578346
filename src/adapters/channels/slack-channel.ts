import { webApi } from "@slack/bolt";
import { type JobAction, jobNamedInButton } from "../../application/jobs/action-report.ts";
import type { ChatEvent } from "../../application/ports/chat.ts";
import type { Timers } from "../../application/ports/platform.ts";
import type { Channel, Delivery, Outgoing, StoredMessage } from "../../application/ports/serve.ts";
import { toErrorText } from "../../domain/platform/error-text.ts";
import type { ChannelMessages } from "../../domain/texts/channels.ts";
import { formatCost, splitText } from "../../domain/texts/format-text.ts";
import {
  actionsIn,
  addToProgress,
  createStreamedMessage,
  findDiscardedJob,
  mapMarkdown,
  type Progress,
  type StreamedMessage,
} from "./channel-message.ts";
import {
  callService,
  downloadFile,
  type NotDelivered,
  remember,
  type ServiceTrouble,
} from "./service-call.ts";

type SlackClient = Pick<webApi.WebClient, "chat" | "conversations" | "auth" | "filesUploadV2">;

const callSlack = <T>(call: () => Promise<T>, signal: AbortSignal) => callService(call, signal, toDelivered);

const { PlatformError: REFUSED, RateLimitedError: TOO_MANY } = webApi.ErrorCode;

const NEVER =
  /^(?:channel_not_found|is_archived|not_in_channel|account_inactive|restricted_action|user_not_found|cannot_dm_bot|messages_tab_disabled)$/;

function toDelivered(error: unknown): NotDelivered {
  const { code, retryAfter, data } = error as {
    code?: string;
    retryAfter?: number;
    data?: { error?: string };
  };
  const reason = `Slack: ${data?.error ?? toErrorText(error)}`;
  if (code === TOO_MANY) return { status: "later", reason, afterMs: (retryAfter ?? 30) * 1000 };
  if (data?.error !== undefined && NEVER.test(data.error)) return { status: "impossible", reason };
  return { status: "later", reason };
}

/** In Slack's format links and names are in angle brackets, and three characters are escaped. */
export function fromSlackText(text: string): string {
  return text
    .replace(/<([^<>]*)>/g, (_, inner: string) => {
      const [target = "", label] = inner.split("|");
      if (target.startsWith("@") || target.startsWith("#"))
        return label === undefined ? target : `${target[0]}${label}`;
      if (target.startsWith("!")) return `@${target.slice(1)}`;
      return target.startsWith("mailto:") ? (label ?? target.slice("mailto:".length)) : target;
    })
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** Markdown as replies are written, in Slack's own dialect. Code is left as it is; names and links notify no person. */
export function toMrkdwn(text: string): string {
  return mapMarkdown(text, {
    prose: proseToMrkdwn,
    span: escapeSlack,
    block: (code) => `\`\`\`\n${escapeSlack(code).replaceAll("```", "`\u200b``")}\n\`\`\``,
  });
}

function proseToMrkdwn(text: string): string {
  return escapeSlack(text)
    .replace(/^#{1,6} +(.+)$/gm, "*$1*")
    .replace(/\*\*([^*\n]+)\*\*/g, "*$1*")
    .replace(/\[([^[\]\n]+)\]\((https?:\/\/[^\s)|]{1,2000})\)/g, "<$2|$1>")
    .replace(/^([^\S\r\n\u2028\u2029]*)[-*] /gm, "$1• ");
}

/** `<!channel>` and `<@U1>` in a text notify no person. */
function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const SECTION_CHARS = 2900;
const SECTIONS = 5;
const BUTTONS = 5;
const LABEL_CHARS = 75;
const FALLBACK_CHARS = 300;

/** The buttons of replies begin their names with it. */
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
  /** The whole text that does not fit, for a file. */
  readonly file: string | null;
}

/** A reply in Block Kit: the text in sections, who answered, and buttons. Past five sections the whole is a file. */
export function toBlocks(content: Outgoing, texts: ChannelMessages): SlackRendering {
  const text = content.kind === "notice" ? content.text : content.reply.text;
  // Only the visible part is rendered: rendering a whole long text would block other messages.
  const head = text.slice(0, 2 * SECTION_CHARS * (SECTIONS + 1));
  const pieces = splitText(toMrkdwn(head) || "…", SECTION_CHARS);
  const long = pieces.length > SECTIONS || head.length < text.length;
  const sections = (long ? [...pieces.slice(0, 1), texts.wholeText] : pieces).map(section);
  return {
    text: escapeSlack(text.slice(0, FALLBACK_CHARS).toWellFormed()) || "…",
    blocks: [...sections, ...footer(content), ...actionBlocks(actionsIn(content))],
    file: long ? text : null,
  };
}

function section(text: string): Block {
  return { type: "section", text: { type: "mrkdwn", text } };
}

function footer(content: Outgoing): Block[] {
  if (content.kind !== "reply") return [];
  const { model, decision, usage } = content.reply;
  const facts = [
    ...(decision === undefined ? [] : [decision.route]),
    ...(model === undefined ? [] : [`${model.provider}/${model.model} (${model.local ? "local" : "cloud"})`]),
    ...(usage === undefined ? [] : [`${usage.inputTokens + usage.outputTokens} tokens`]),
    ...(usage === undefined || usage.costUsd === 0
      ? []
      : [formatCost(usage.costUsd ?? 0, usage.costUsd === null)]),
  ];
  return facts.length === 0
    ? []
    : [{ type: "context", elements: [{ type: "mrkdwn", text: facts.join(" · ") }] }];
}

/** The pressed message with the buttons that its answer has for the same job; null: they stay as they are. */
function redrawActions(blocks: readonly Block[], content: Outgoing): Block[] | null {
  const actions = actionsIn(content);
  const name = jobNamedInButton(actions[0]?.message ?? "") ?? findDiscardedJob(content);
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
        ...(/^\/(?:undo|discard)\b/.test(message) && { style: "danger" as const }),
      })),
    },
  ];
}

export interface SlackChannelDeps {
  readonly client: SlackClient;
  readonly texts: () => ChannelMessages;
  readonly timers: Timers;
  readonly describe: (event: ChatEvent) => string | null;
  readonly files: { readonly token: string; readonly apiUrl: string | null };
  /** Why no events come in over a socket just now; null where they do. */
  readonly socketTrouble: () => ServiceTrouble | null;
  readonly onClose: () => Promise<void>;
}

interface SlackPlace {
  readonly channel: string;
  /** Absent in a direct message outside of a thread. */
  readonly thread?: string;
}

interface PressedMessage {
  readonly ts: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const CALL_MS = 20_000;
const UPDATE_MS = 1500;
const STREAMED_CHARS = 2900;
const EVENT_TYPE = "picoclaw_reply";
const REMEMBERED = 1_000;
/** Slack would fetch the addresses in a text, also those that a model wrote, and show what it got. */
export const NO_PREVIEWS = { unfurl_links: false, unfurl_media: false } as const;

/** One message per reply: begun, streamed into, replaced. Its key is metadata, by which it is found after a crash. */
export function createSlackChannel(deps: SlackChannelDeps): Channel {
  const { client, timers } = deps;
  const drafts = new Map<string, StreamedMessage>();
  /** Messages whose result was sent: a late event must not begin another draft. */
  const answered = new Set<string>();
  const limit = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);

  const startedAt = timers.now().toISOString();

  const toMessage = (
    { channel }: SlackPlace,
    { text, blocks }: SlackRendering,
    mark: MessageMark | null,
  ) => ({
    ...{ channel, text, blocks: blocks as never, ...NO_PREVIEWS },
    ...(mark !== null && { metadata: { event_type: EVENT_TYPE, event_payload: { ...mark } } }),
  });
  const post = (place: SlackPlace, rendered: SlackRendering, mark: MessageMark, signal: AbortSignal) => {
    const thread = place.thread !== undefined && { thread_ts: place.thread };
    const message = { ...toMessage(place, rendered, mark), ...thread };
    return callSlack(() => client.chat.postMessage(message), limit(signal));
  };
  const update = (
    place: SlackPlace,
    ts: string,
    rendered: SlackRendering,
    mark: MessageMark | null,
    signal: AbortSignal,
  ) => callSlack(() => client.chat.update({ ...toMessage(place, rendered, mark), ts }), signal);

  /** Updates the buttons of the message whose button was pressed. The answer was already sent, so a failure here is ignored. */
  const redrawPressed = async (place: SlackPlace, { replyTo, content }: Delivery, signal: AbortSignal) => {
    const { ts, text, blocks } = (replyTo?.pressed ?? {}) as Partial<PressedMessage>;
    if (ts === undefined || blocks === undefined) return;
    const redrawn = redrawActions(blocks, content);
    if (redrawn !== null)
      await update(place, ts, { text: text ?? "", blocks: redrawn, file: null }, null, signal);
  };

  /** The "working…" draft that a dead process left for this message. */
  const leftDraft = async (place: SlackPlace, messageId: string, signal: AbortSignal) =>
    (await latestMessages(client, place, signal))?.find(({ mark }) => mark.draft === messageId)?.ts ?? null;

  const draftOf = (
    place: SlackPlace,
    { id, attempts }: Pick<StoredMessage, "id" | "attempts">,
  ): StreamedMessage => {
    const { working } = deps.texts();
    return createStreamedMessage(
      {
        timers,
        pauseMs: UPDATE_MS,
        async begin() {
          const rendered = { text: working, blocks: [section(working)], file: null };
          const signal = AbortSignal.timeout(CALL_MS);
          const left = attempts > 1 ? await leftDraft(place, id, signal) : null;
          if (left !== null) return left;
          const made = await post(place, rendered, { draft: id }, signal);
          return made.ok ? (made.value.ts ?? null) : null;
        },
        // Without a limit: an update that was given up by us may still arrive.
        update: async (ts, progress) =>
          void (await update(place, ts, renderProgress(progress), null, new AbortController().signal)),
      },
      { text: "", note: working },
    );
  };

  return {
    name: "slack",
    async download(url, limitBytes, signal) {
      const { token, apiUrl } = deps.files;
      if (!isSlackAddress(url, apiUrl)) return { ok: false, reason: "its address is not Slack's" };
      const got = await downloadFile({ url, token }, limitBytes, signal);
      return got.ok ? got : { ok: false, reason: `${got.reason}; ${deps.texts().filesRight}` };
    },
    progress(message, event) {
      const place = replyPlace(message.replyTo);
      if (place === null || answered.has(message.id)) return;
      const draft = drafts.get(message.id) ?? draftOf(place, message);
      drafts.set(message.id, draft);
      draft.show((progress) => addToProgress(progress, event, deps.describe));
    },
    async deliver(delivery, signal) {
      const place = replyPlace(delivery.replyTo) ?? chatPlace(delivery.chatId);
      const rendered = toBlocks(delivery.content, deps.texts());
      const { key, messageId = "" } = delivery;
      const draft = drafts.get(messageId);
      // A process that is gone may have begun one.
      const mayBeLeft = messageId !== "" && (delivery.attempt > 1 || delivery.since < startedAt);
      const ts =
        draft !== undefined
          ? await draft.close()
          : mayBeLeft
            ? await leftDraft(place, messageId, limit(signal))
            : null;
      const updated = ts === null ? null : await update(place, ts, rendered, { key }, limit(signal));
      // Refused by Slack, and not because it was too busy: the draft is gone.
      const isRefused = updated?.ok === false && (updated.error as { code?: string }).code === REFUSED;
      const sent = updated === null || isRefused ? await post(place, rendered, { key }, signal) : updated;
      if (!sent.ok && sent.delivered.status === "later") return sent.delivered;
      drafts.delete(messageId);
      remember(answered, messageId, REMEMBERED);
      if (!sent.ok) return sent.delivered;
      if (rendered.file !== null) {
        const file = { channel_id: place.channel, filename: "picoclaw.md", content: rendered.file };
        const thread = place.thread !== undefined && { thread_ts: place.thread };
        // The reply is there already; a file that could not be sent does not make it be sent again.
        await callSlack(() => client.filesUploadV2({ ...file, ...thread } as never), limit(signal));
      }
      await redrawPressed(place, delivery, limit(signal));
      return { status: "sent" };
    },
    async wasDelivered({ key, replyTo, chatId }, signal) {
      const found = await latestMessages(client, replyPlace(replyTo) ?? chatPlace(chatId), limit(signal));
      return found === null ? "unknown" : found.some(({ mark }) => mark.key === key);
    },
    async check(signal) {
      const tested = await callSlack(() => client.auth.test(), limit(signal));
      const deaf = deps.socketTrouble();
      if (tested.ok && deaf !== null) return { ok: false, ...deaf };
      if (tested.ok)
        return { ok: true, detail: `${tested.value.team ?? ""} ${tested.value.user ?? ""}`.trim() };
      return { ok: false, detail: tested.delivered.reason, remedy: "SLACK_BOT_TOKEN" };
    },
    close: () => deps.onClose(),
  };
}

/** The metadata of PicoClaw's messages: the key of a reply, or the message that is being worked on. */
interface MessageMark {
  readonly key?: string;
  readonly draft?: string;
}

async function latestMessages(
  client: SlackClient,
  { channel, thread }: SlackPlace,
  signal: AbortSignal,
): Promise<readonly { readonly ts: string | null; readonly mark: MessageMark }[] | null> {
  const asked = { channel, limit: 50, include_all_metadata: true };
  const found = await callSlack(
    () =>
      thread === undefined
        ? client.conversations.history(asked)
        : client.conversations.replies({ ...asked, ts: thread }),
    signal,
  );
  if (!found.ok) return null;
  return (found.value.messages ?? []).map(({ ts, metadata }) => ({
    ts: ts ?? null,
    mark: (metadata?.event_payload ?? {}) as MessageMark,
  }));
}

function replyPlace(replyTo: Readonly<Record<string, unknown>> | undefined): SlackPlace | null {
  const { channel, thread } = replyTo ?? {};
  if (typeof channel !== "string") return null;
  return { channel, ...(typeof thread === "string" && { thread }) };
}

/** `C1:1700000000.1` is a thread, `D1` a direct message. */
function chatPlace(chatId: string): SlackPlace {
  const [channel = "", thread] = chatId.split(":");
  return { channel, ...(thread !== undefined && { thread }) };
}

function renderProgress({ text, note, steps = "" }: Progress): SlackRendering {
  const streamed = toMrkdwn(text.slice(-STREAMED_CHARS));
  const blocks = [streamed, escapeSlack(steps), `_${escapeSlack(note)}_`]
    .filter((part) => part !== "")
    .map(section);
  return { text: escapeSlack(note), blocks, file: null };
}

/** The token is sent to Slack's own servers, or to the configured one. */
function isSlackAddress(url: string, apiUrl: string | null): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, host } = new URL(url);
  if (apiUrl !== null) return host === new URL(apiUrl).host;
  return protocol === "https:" && (hostname === "slack.com" || hostname.endsWith(".slack.com"));
}
