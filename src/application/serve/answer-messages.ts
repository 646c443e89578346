import { MOST_IMAGE_BYTES, MOST_IMAGES } from "../../domain/platform/image.ts";
import { fenceText } from "../../domain/texts/format-text.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import type { ServeMessages } from "../../domain/texts/serve.ts";
import { type ReplyPiece, say, wordPieces } from "../chat/reply-words.ts";
import {
  type ChatEvent,
  type Conversation,
  chatKeyOf,
  type ImageStore,
  type MessageImage,
  type Reply,
} from "../ports/chat.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { Timers } from "../ports/platform.ts";
import type {
  Channel,
  ClaimedMessage,
  MessageStore,
  NewReply,
  Outgoing,
  StoredMessage,
  Work,
} from "../ports/serve.ts";
import { isImage, replyChannelOf } from "./receive-messages.ts";
import type { Bus } from "./serve-events.ts";
import { createWorkTaker, pause, type WorkKeeper } from "./take-work.ts";

export interface AnswerMessagesDeps {
  readonly store: MessageStore;
  /** Asked again for every message, so that a reload takes effect. */
  readonly conversation: () => Conversation;
  readonly channel: (name: string) => Pick<Channel, "isReadFromStore" | "progress" | "download"> | undefined;
  readonly images: () => Pick<ImageStore, "keep" | "loadText">;
  /** The jobs of an interrupted attempt that are in effect; no other job of that attempt can land afterwards. */
  readonly settleEarlier: (messageId: string, noted: readonly string[]) => Promise<readonly string[]>;
  readonly nameJob: (jobId: string) => string;
  /** Whether the sender, and the token it was sent with, still may write; asked when a message that waited begins. */
  readonly mayStillWrite: (message: StoredMessage) => Promise<boolean>;
  /** Whether other machines have jobs of the same numbers. Absent: there are none. */
  readonly hasOthers?: () => Promise<boolean>;
  readonly actionsFor: (jobIds: readonly string[]) => Reply["actions"];
  readonly bus: Bus;
  readonly keeper: Pick<WorkKeeper, "hold" | "drop" | "end">;
  readonly timers: Timers;
  readonly uuid: () => string;
  readonly messages: () => ServeMessages;
  readonly locale: () => Locale;
  readonly dayOf: (at: Date) => string;
  readonly limit: number;
  readonly isBusy: () => boolean;
  /** Whether the last try of a message has the process to itself, so that those beside it do not die with it again. */
  readonly isLastAlone?: boolean;
  /** A bug or a store that fails; the message stays and is tried again. */
  readonly onTrouble: (error: unknown, message: StoredMessage | null) => void;
}

/** After so many deaths over one message it is not tried again. */
export const MOST_ATTEMPTS = 3;
const [BUSY_MS, BUSY_STEP_MS] = [2_000, 50];
const AFTER_TROUBLE_MS = 5_000;
/** Of so many lanes one is never the same user's. */
const LANES_TO_ONE_SHARED = 4;

/** Answer and end are stored in one transaction. Begun by a dead process, a message that changed nothing is begun again. */
export function createMessageAnswerer(deps: AnswerMessagesDeps) {
  const { store, keeper, timers, limit } = deps;
  const stopping = new AbortController();
  const inHand = new Map<string, AbortController>();
  const taking = createWorkTaker<ClaimedMessage>({
    claim: (request) => store.claimMessage(request),
    run: answer,
    limit,
    perGroup: Math.max(1, limit - Math.ceil(limit / LANES_TO_ONE_SHARED)),
    isAlone: ({ message }) => deps.isLastAlone === true && message.attempts === MOST_ATTEMPTS,
    before: whileBusy,
    timers,
    onTrouble: (error) => deps.onTrouble(error, null),
  });

  /** Short enough that a chat still makes progress, slowly, during a burst of any length. */
  async function whileBusy(): Promise<void> {
    for (
      let waited = 0;
      deps.isBusy() && !stopping.signal.aborted && waited < BUSY_MS;
      waited += BUSY_STEP_MS
    )
      await new Promise<void>((resolve) => void timers.after(BUSY_STEP_MS, resolve));
  }

  async function answer({ work, message }: ClaimedMessage): Promise<void> {
    const lost = keeper.hold(work);
    const began = timers.now().getTime();
    const state = { answered: false };
    // Once others know that the message has begun, it can be cancelled.
    const abort = new AbortController();
    inHand.set(message.id, abort);
    deps.bus.publish({ type: "begun", message });
    try {
      const refusal = await instead(message);
      const reply = refusal?.reply ?? (await handle(message, work, AbortSignal.any([abort.signal, lost])));
      inHand.delete(message.id);
      const isStopped = stopping.signal.aborted && !lost.aborted;
      const isLost = reply.lost === true && message.attempts < MOST_ATTEMPTS;
      // Where it is another's by now, nothing happens.
      if (lost.aborted || (reply.jobs.length === 0 && (isStopped || isLost)))
        return void (await keeper.end(() => store.handBack(work, { begun: !isStopped })));
      const stored = toNewReply(message, { kind: "reply", reply });
      const end = { replies: [stored], ...(refusal?.dead !== undefined && { dead: refusal.dead }) };
      // The work for the message is done: its end is repeated until the store accepts it.
      if ((await keeper.end(() => store.finish(work, end))) !== "done") return;
      state.answered = true;
      deps.bus.publish({ type: "answered", message, reply, ms: timers.now().getTime() - began });
      const { channel, id: messageId } = message;
      if (stored.hasArrived === true)
        deps.bus.publish({ type: "delivered", channel, ok: true, messageId, attempt: 1, ms: 0 });
    } catch (error) {
      deps.onTrouble(error, message);
      await pause(timers, AFTER_TROUBLE_MS, stopping.signal);
      await keeper.end(() => store.handBack(work, { begun: true }));
    } finally {
      inHand.delete(message.id);
      keeper.drop(work);
      if (!state.answered) deps.bus.publish({ type: "left", message });
    }
  }

  /** The reply instead of carrying it out: twice, somewhere else, for a removed sender, or again and again; null when it is to be done. */
  async function instead(
    message: StoredMessage,
  ): Promise<{ readonly reply: Reply; readonly dead?: string } | null> {
    const began = message.attempts > 1;
    const jobs = began ? await deps.settleEarlier(message.id, await store.jobsOf(message.id)) : [];
    if (jobs.length > 0) {
      const actions = deps.actionsFor(jobs);
      const hasOthers = (await deps.hasOthers?.()) === true;
      const nameJob = (jobId: string) => (hasOthers ? jobId : deps.nameJob(jobId));
      const names = jobs.map(nameJob);
      // Those alone that can be undone, which may not be all.
      const [order, ...ids] =
        actions.find(({ message: text }) => text.startsWith("/undo"))?.message.split(" ") ?? [];
      const undo = order === undefined ? null : [order, ...ids.map(nameJob)].join(" ");
      return { reply: { ...toFailedReply(deps.messages().interrupted(names, undo)), actions } };
    }
    if (!(await deps.mayStillWrite(message))) return { reply: toFailedReply(deps.messages().senderRemoved) };
    if (message.attempts <= MOST_ATTEMPTS) return null;
    // More tries than that were ended while they said so.
    return {
      reply: toFailedReply(deps.messages().gaveUp(MOST_ATTEMPTS)),
      dead: `ended ${MOST_ATTEMPTS} times over it`,
    };
  }

  async function handle(message: StoredMessage, claim: Work, ended: AbortSignal): Promise<Reply> {
    const noted: Promise<void>[] = [];
    const state = { isAnswered: false };
    const onEvent = (event: ChatEvent) => {
      if (state.isAnswered) {
        if (event.type === "notice") void postLate(message, event.text);
        return;
      }
      if (event.type === "job-started") noted.push(note(message, event.jobId));
      deps.bus.publish({ type: "chat", message, event });
      deps.channel(replyChannelOf(message))?.progress?.(message, event);
    };
    const { channel, chatId, userId, id, forcedRoute, strict, traceparent } = message;
    const signal = AbortSignal.any([stopping.signal, ended]);
    const fetched = await fetchImages(deps, message, signal);
    if (!fetched.ok) return fetched.reply;
    const { images } = fetched;
    const { token } = message.replyTo ?? {};
    const reply = await deps.conversation().handle(
      {
        id,
        channel,
        chatId,
        userId,
        ...(typeof token === "string" && { token }),
        text: await messageTextWithFiles(deps, message),
        ...(images.length > 0 && { images }),
        sentAt: message.receivedAt,
        ...(forcedRoute !== undefined && { forcedRoute }),
        ...(strict !== undefined && { strict }),
        ...(traceparent !== undefined && { traceparent }),
      },
      { signal, onEvent, claim, tellsDrafts: replyChannelOf(message) === "web" },
    );
    state.isAnswered = true;
    for (const job of reply.jobs) noted.push(note(message, job.job_id));
    await Promise.all(noted);
    // An id is right everywhere; a store that fails now keeps no one from the answer.
    const isShared = (await deps.hasOthers?.().catch(() => true)) ?? false;
    return isShared ? nameById(reply, deps.locale()) : reply;
  }

  /** Noted as soon as the store takes it: only the job folders know of it before. */
  async function note({ channel, userId, id }: StoredMessage, jobId: string): Promise<void> {
    const at = timers.now().toISOString();
    await keeper.end(() => store.noteJob({ jobId, channel, userId, messageId: id, at }));
  }

  /** A notice after the answer is a message of its own. */
  async function postLate(message: StoredMessage, text: string): Promise<void> {
    const notice = { ...toNewReply(message, { kind: "notice", text }), messageId: null };
    await store.post(notice).catch((error: unknown) => deps.onTrouble(error, message));
  }

  const toNewReply = (message: StoredMessage, content: Outgoing): NewReply => ({
    key: deps.uuid(),
    messageId: message.id,
    channel: message.channel,
    chatId: message.chatId,
    userId: message.userId,
    content,
    ...(message.replyTo !== undefined && { replyTo: message.replyTo }),
    ...(deps.channel(replyChannelOf(message))?.isReadFromStore === true && { hasArrived: true }),
    since: message.receivedAt,
    at: timers.now().toISOString(),
    day: deps.dayOf(timers.now()),
  });

  return {
    look: taking.look,
    /** Finishes running answers within the time, then hands the rest back. Resolves when nothing runs. */
    async stop(graceMs: number): Promise<void> {
      taking.close();
      const late = timers.after(graceMs, () => stopping.abort());
      await taking.idle();
      late();
      stopping.abort();
    },
    /** Ends the answering of one message and rolls back its work. False if it is not being answered. */
    cancel(messageId: string): boolean {
      inHand.get(messageId)?.abort();
      return inHand.has(messageId);
    },
    get running() {
      return taking.running;
    },
  };
}

const DOWNLOAD_MS = 30_000;

type FetchedImages =
  | { readonly ok: true; readonly images: readonly MessageImage[] }
  | { readonly ok: false; readonly reply: Reply };

/** The images of a message. Images that only the service holds are fetched and stored first. */
async function fetchImages(
  { channel, images, locale }: Pick<AnswerMessagesDeps, "channel" | "images" | "locale">,
  message: StoredMessage,
  signal: AbortSignal,
): Promise<FetchedImages> {
  const found: MessageImage[] = [];
  const refuse = (saying: ReplyPiece): FetchedImages => {
    const said = [saying];
    return { ok: false, reply: { ...toFailedReply(wordPieces(locale(), said)), said } };
  };
  for (const { name, sizeBytes, image, remote } of message.attachments ?? []) {
    if (image !== undefined) found.push({ id: image, name });
    if (remote === undefined) continue;
    if (sizeBytes > MOST_IMAGE_BYTES)
      return refuse(say("imageTrouble", { kind: "too-large", name, sizeBytes }));
    const download = channel(message.channel)?.download;
    const ends = AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]);
    const got = (await download?.(remote, MOST_IMAGE_BYTES, ends)) ?? { ok: false, reason: message.channel };
    if (!got.ok) return refuse(say("imageNotFetched", name, got.reason));
    const key = chatKeyOf(message.channel, message.chatId);
    const kept = await images().keep(key, [{ name, bytes: got.bytes }]);
    if (!kept.ok) return refuse(say("imageTrouble", kept.trouble));
    found.push(...kept.images);
  }
  if (found.length > MOST_IMAGES)
    return refuse(say("imageTrouble", { kind: "too-many", count: found.length }));
  return { ok: true, images: found };
}

/** Attached files are read with the message; of a file that is neither text nor image, name and size. */
async function messageTextWithFiles(
  { images, messages }: Pick<AnswerMessagesDeps, "images" | "messages">,
  message: StoredMessage,
): Promise<string> {
  const key = chatKeyOf(message.channel, message.chatId);
  const files: string[] = [];
  for (const { name, sizeBytes, text, storedText } of (message.attachments ?? []).filter(
    (file) => !isImage(file),
  )) {
    const read = storedText === undefined ? text : await images().loadText(key, storedText);
    files.push(
      read === undefined || read === null
        ? messages().attachment(name, sizeBytes)
        : `${name}:\n${fenceText(read)}`,
    );
  }
  return [message.text, ...files].filter((part) => part !== "").join("\n\n");
}

function toFailedReply(text: string): Reply {
  return { text, ok: false, sessionId: "", jobs: [], actions: [] };
}

/**
 * The ids of committed jobs from earlier attempts at a message. A job that was interrupted during its commit
 * is finished first; a job that has not begun to commit is thrown away, so that it can neither be taken for
 * done nor be committed beside the attempt that follows.
 */
export async function settleEarlier(
  workspace: Pick<Workspace, "archive" | "repair" | "closeDeadJobs" | "withdraw">,
  messageId: string,
  noted: readonly string[],
): Promise<readonly string[]> {
  const known = () =>
    workspace.archive
      .list()
      .filter(({ jobId, groupId }) => groupId.endsWith(`#${messageId}`) || noted.includes(jobId));
  const ids = new Set([...noted, ...known().map(({ jobId }) => jobId)]);
  if (ids.size === 0) return [];
  await workspace.repair();
  await workspace.closeDeadJobs();
  for (const jobId of ids) await workspace.withdraw(jobId);
  return known()
    .filter(({ state }) => state !== "discarded")
    .map(({ jobId }) => jobId);
}

/** The reply with its jobs by their ids: a number names another job where another machine reads it. */
export function nameById(reply: Reply, locale: Locale): Reply {
  const { jobs, actions, said } = reply;
  const ids = new Map(jobs.map(({ number, job_id }) => [`#${number}`, job_id]));
  const rename = (piece: ReplyPiece): ReplyPiece => {
    if (piece.kind === "loop" && piece.undo !== null)
      return { ...piece, undo: piece.undo.replace(/#\d+/g, (name) => ids.get(name) ?? name) };
    if (piece.kind !== "job" && piece.kind !== "action") return piece;
    const { numbers: _, together: __, ...facts } = { together: [], ...piece.facts };
    return { ...piece, facts } as ReplyPiece;
  };
  const pieces = said?.map(rename);
  return {
    ...reply,
    ...(pieces !== undefined && { said: pieces, text: wordPieces(locale, pieces) }),
    jobs: jobs.map(({ number: _, ...job }) => job),
    actions: actions.filter(({ message }) => !/^\/undo #\d/.test(message)),
  };
}
