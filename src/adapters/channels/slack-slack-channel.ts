import type { Channel, Delivery, DeliveryResult, StoredMessage } from "../../application/ports/channel.ts";
import type { ChatEvent } from "../../application/ports/conversation.ts";
import type { Timers } from "../../application/ports/timers.ts";
import type { SlackMessages } from "../../domain/texts/texts.ts";
import { createStreamedMessage, type Progress, type StreamedMessage } from "./channel-message.ts";
import { type Block, redrawActions, type SlackRendering, section, toBlocks } from "./blocks.ts";
import { callSlack, type SlackClient } from "./slack-client.ts";
import { escapeSlack, toMrkdwn } from "./slack-text.ts";

export interface SlackChannelDeps {
  readonly client: SlackClient;
  readonly texts: () => SlackMessages;
  readonly timers: Timers;
  /** One line of what is being done. */
  readonly describe: (event: ChatEvent) => string | null;
  readonly onClose: () => Promise<void>;
}

/** Where a message came from, as it is kept with it. */
export interface SlackPlace {
  readonly channel: string;
  /** Absent in a direct message that is no thread. */
  readonly thread?: string;
}

/** The message whose button was pressed, as Slack gave it. */
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

/**
 * Slack: one message per reply, begun as "working…", streamed into at a polite rate, and replaced by the result. Each
 * carries its key as metadata, so that after a crash it is found again instead of sent twice.
 */
export function createSlackChannel(parts: SlackChannelDeps): Channel {
  const { client, timers } = parts;
  /** By the message that is being answered. */
  const drafts = new Map<string, StreamedMessage>();
  /** Messages whose result was sent: an event that comes late must not begin another draft. */
  const answered = new Set<string>();
  const limit = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);

  const startedAt = timers.now().toISOString();

  const post = async (
    place: SlackPlace,
    rendered: SlackRendering,
    mark: MessageMark,
    signal: AbortSignal,
  ) => {
    const metadata = { metadata: { event_type: EVENT_TYPE, event_payload: { ...mark } } };
    return callSlack(
      () =>
        client.chat.postMessage({
          channel: place.channel,
          ...(place.thread !== undefined && { thread_ts: place.thread }),
          text: rendered.text,
          blocks: rendered.blocks as never,
          unfurl_links: false,
          ...metadata,
        }),
      limit(signal),
    );
  };
  const update = (
    place: SlackPlace,
    ts: string,
    rendered: SlackRendering,
    key: string | null,
    signal: AbortSignal,
  ) => {
    const metadata = key === null ? {} : { metadata: { event_type: EVENT_TYPE, event_payload: { key } } };
    return callSlack(
      () =>
        client.chat.update({
          channel: place.channel,
          ts,
          text: rendered.text,
          blocks: rendered.blocks as never,
          ...metadata,
        }),
      signal,
    );
  };

  /** The message whose button was pressed shows what can be done now. The answer is there already, whatever comes of it. */
  const redrawPressed = async (place: SlackPlace, { replyTo, content }: Delivery, signal: AbortSignal) => {
    const { ts, text, blocks } = (replyTo?.pressed ?? {}) as Partial<PressedMessage>;
    if (ts === undefined || blocks === undefined) return;
    const redrawn = redrawActions(blocks, content);
    if (redrawn !== null)
      await update(place, ts, { text: text ?? "", blocks: redrawn, file: null }, null, signal);
  };

  /** What a process that died left standing as "working…" for this message. */
  const leftDraft = async (place: SlackPlace, messageId: string, signal: AbortSignal) =>
    (await latestMessages(client, place, signal))?.find(({ mark }) => mark.draft === messageId)?.ts ?? null;

  const draftOf = (
    place: SlackPlace,
    { id, attempts }: Pick<StoredMessage, "id" | "attempts">,
  ): StreamedMessage => {
    const { working } = parts.texts();
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
    progress(message, event) {
      const place = replyPlace(message.replyTo);
      if (place === null || answered.has(message.id)) return;
      const draft = drafts.get(message.id) ?? draftOf(place, message);
      drafts.set(message.id, draft);
      draft.show(({ text, note }) =>
        event.type === "text"
          ? { text: text + event.text, note }
          : { text, note: parts.describe(event) ?? note },
      );
    },
    async deliver(delivery, signal) {
      const place = replyPlace(delivery.replyTo) ?? chatPlace(delivery.chatId);
      const rendered = toBlocks(delivery.content, parts.texts());
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
      const updated = ts === null ? null : await update(place, ts, rendered, key, limit(signal));
      const sent =
        updated === null || (!updated.ok && updated.refused)
          ? await post(place, rendered, { key }, signal)
          : updated;
      if (!sent.ok && sent.delivered.status === "later") return sent.delivered;
      drafts.delete(messageId);
      answered.add(messageId);
      if (answered.size > REMEMBERED) answered.delete(answered.values().next().value as string);
      if (!sent.ok) return sent.delivered;
      if (rendered.file !== null) await uploadReply(client, place, rendered.file, limit(signal));
      await redrawPressed(place, delivery, limit(signal));
      return { status: "sent" };
    },
    wasDelivered: (delivery, signal) => wasPosted(client, delivery, limit(signal)),
    async check(signal) {
      const tested = await callSlack(() => client.auth.test(), limit(signal));
      if (tested.ok)
        return { ok: true, detail: `${tested.value.team ?? ""} ${tested.value.user ?? ""}`.trim() };
      return { ok: false, detail: failureReason(tested.delivered), remedy: "SLACK_BOT_TOKEN" };
    },
    close: () => parts.onClose(),
  };
}

/** Looks for the key among the latest messages of the place. */
async function wasPosted(
  client: SlackClient,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<boolean | "unknown"> {
  const found = await latestMessages(
    client,
    replyPlace(delivery.replyTo) ?? chatPlace(delivery.chatId),
    signal,
  );
  return found === null ? "unknown" : found.some(({ mark }) => mark.key === delivery.key);
}

/** What our messages carry: the key of a reply, or the message that is being worked on. */
interface MessageMark {
  readonly key?: string;
  readonly draft?: string;
}

/** The latest messages of a place; null when Slack does not say. */
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

async function uploadReply(
  client: SlackClient,
  place: SlackPlace,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const { channel, thread } = place;
  const where = { channel_id: channel, ...(thread !== undefined && { thread_ts: thread }) };
  // The reply is there already; a file that could not be sent does not make it be sent again.
  await callSlack(
    () => client.filesUploadV2({ ...where, filename: "picoclaw.md", content: text } as never),
    signal,
  );
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

function renderProgress({ text, note }: Progress): SlackRendering {
  const streamed = toMrkdwn(text.slice(-STREAMED_CHARS));
  const blocks = [streamed, `_${escapeSlack(note)}_`].filter((part) => part !== "").map(section);
  return { text: escapeSlack(note), blocks, file: null };
}

function failureReason(delivered: DeliveryResult): string {
  return delivered.status === "sent" ? "" : delivered.reason;
}
