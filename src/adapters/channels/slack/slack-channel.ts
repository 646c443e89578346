import type { Channel, Delivered, Delivery } from "../../../application/ports/channel.ts";
import type { ChatEvent } from "../../../application/ports/conversation.ts";
import type { Timers } from "../../../application/ports/timers.ts";
import type { SlackMessages } from "../../../domain/texts/slack/messages.ts";
import { type Shown, section, toBlocks } from "./blocks.ts";
import { escaped, toMrkdwn } from "./mrkdwn.ts";
import { callSlack, type SlackClient } from "./slack-client.ts";

export interface SlackChannelParts {
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

const CALL_MS = 20_000;
const UPDATE_MS = 1500;
const STREAMED_CHARS = 2900;
const EVENT_TYPE = "picoclaw_reply";

/** What is shown while a message is worked on. */
interface Draft {
  readonly ts: Promise<string | null>;
  text: string;
  note: string;
  busy: boolean;
  dirty: boolean;
}

/**
 * Slack: one message per reply, begun as "working…", streamed into at a polite rate, and replaced by the result. Each
 * carries its key as metadata, so that after a crash it is found again instead of sent twice.
 */
export function createSlackChannel(parts: SlackChannelParts): Channel {
  const { client, timers } = parts;
  const drafts = new Map<string, Draft>();
  const limit = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);

  const post = async (place: SlackPlace, shown: Shown, key: string | null, signal: AbortSignal) => {
    const metadata = key === null ? {} : { metadata: { event_type: EVENT_TYPE, event_payload: { key } } };
    return callSlack(
      () =>
        client.chat.postMessage({
          channel: place.channel,
          ...(place.thread !== undefined && { thread_ts: place.thread }),
          text: shown.text,
          blocks: shown.blocks as never,
          unfurl_links: false,
          ...metadata,
        }),
      limit(signal),
    );
  };
  const update = (place: SlackPlace, ts: string, shown: Shown, key: string | null, signal: AbortSignal) => {
    const metadata = key === null ? {} : { metadata: { event_type: EVENT_TYPE, event_payload: { key } } };
    return callSlack(
      () =>
        client.chat.update({
          channel: place.channel,
          ts,
          text: shown.text,
          blocks: shown.blocks as never,
          ...metadata,
        }),
      limit(signal),
    );
  };

  const stream = async (place: SlackPlace, draft: Draft) => {
    if (draft.busy) return;
    draft.busy = true;
    const ts = await draft.ts;
    draft.dirty = false;
    if (ts !== null) {
      const said = draft.text === "" ? "" : toMrkdwn(draft.text.slice(-STREAMED_CHARS));
      const note = escaped(draft.note);
      const blocks = [said, `_${note}_`].filter((part) => part !== "").map(section);
      await update(place, ts, { text: note, blocks, file: null }, null, AbortSignal.timeout(CALL_MS));
    }
    timers.after(UPDATE_MS, () => {
      draft.busy = false;
      if (draft.dirty) void stream(place, draft);
    });
  };

  return {
    name: "slack",
    progress(message, event) {
      const place = placeOf(message.replyTo);
      if (place === null) return;
      const key = chatOf(message);
      const texts = parts.texts();
      let draft = drafts.get(key);
      if (draft === undefined) {
        const begun = post(
          place,
          { text: texts.working, blocks: [section(texts.working)], file: null },
          null,
          AbortSignal.timeout(CALL_MS),
        );
        draft = {
          ts: begun.then((made) => (made.ok ? (made.value.ts ?? null) : null)),
          text: "",
          note: texts.working,
          busy: false,
          dirty: false,
        };
        drafts.set(key, draft);
      }
      if (event.type === "text") draft.text += event.text;
      else draft.note = parts.describe(event) ?? draft.note;
      draft.dirty = true;
      void stream(place, draft);
    },
    async deliver(delivery, signal) {
      const place = placeOf(delivery.replyTo) ?? placeIn(delivery.chatId);
      const shown = toBlocks(delivery.content, parts.texts());
      const draft = drafts.get(chatOf(delivery));
      drafts.delete(chatOf(delivery));
      if (draft !== undefined) draft.busy = true;
      const ts = (await draft?.ts) ?? null;
      const updated = ts === null ? null : await update(place, ts, shown, delivery.key, signal);
      const sent = updated?.ok === true ? updated : await post(place, shown, delivery.key, signal);
      if (!sent.ok) return sent.delivered;
      if (shown.file !== null) await upload(client, place, shown.file, limit(signal));
      return { status: "sent" };
    },
    wasDelivered: (delivery, signal) => wasPosted(client, delivery, limit(signal)),
    async check(signal) {
      const tested = await callSlack(() => client.auth.test(), limit(signal));
      if (tested.ok)
        return { ok: true, detail: `${tested.value.team ?? ""} ${tested.value.user ?? ""}`.trim() };
      return { ok: false, detail: reasonOf(tested.delivered), remedy: "SLACK_BOT_TOKEN" };
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
  const { channel, thread } = placeOf(delivery.replyTo) ?? placeIn(delivery.chatId);
  const asked = { channel, limit: 50, include_all_metadata: true };
  const found = await callSlack(
    () =>
      thread === undefined
        ? client.conversations.history(asked)
        : client.conversations.replies({ ...asked, ts: thread }),
    signal,
  );
  if (!found.ok) return "unknown";
  return (found.value.messages ?? []).some(
    ({ metadata }) => (metadata?.event_payload as { key?: unknown } | undefined)?.key === delivery.key,
  );
}

async function upload(
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

function placeOf(replyTo: Readonly<Record<string, unknown>> | undefined): SlackPlace | null {
  const { channel, thread } = replyTo ?? {};
  if (typeof channel !== "string") return null;
  return { channel, ...(typeof thread === "string" && { thread }) };
}

/** `C1:1700000000.1` is a thread, `D1` a direct message. */
function placeIn(chatId: string): SlackPlace {
  const [channel = "", thread] = chatId.split(":");
  return { channel, ...(thread !== undefined && { thread }) };
}

function chatOf({ chatId }: { readonly chatId: string }): string {
  return chatId;
}

function reasonOf(delivered: Delivered): string {
  return delivered.status === "sent" ? "" : delivered.reason;
}
