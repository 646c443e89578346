import { stepLines, type WorkStep } from "../../application/chat/describe-event.ts";
import type { ViewerJobs } from "../../application/fleet/viewer-jobs.ts";
import type { LiveWork, ServeEvent } from "../../application/serve/serve-events.ts";
import { toShownJson } from "../../domain/platform/json-text.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import type { ConsoleMessages } from "../../domain/texts/web.ts";
import type { WebHost } from "./host.ts";
import { markdown } from "./markdown.ts";
import { agentOfRoute, duration, html, type Markup, sealOf, visible } from "./markup.ts";

/** The state of a message at work as a page shows it; the stream sends the same, so that both always agree. */
export interface LiveLine {
  /** The symbol of the working agent, and its style. */
  readonly face: string;
  readonly style: string;
  readonly now: string;
  readonly cost: string;
  /** The plan, the steps so far, the output of the one that runs, and the words that are being written. */
  readonly work: Markup;
}

export function liveLine(t: ConsoleMessages, work: LiveWork, otherwise: string): LiveLine {
  const [face, style] = sealOf(work.agent ?? "Mio");
  return {
    face,
    style,
    now: (work.event === null ? null : progressText(t, work)) ?? otherwise,
    cost: work.costUsd > 0 ? `$${work.costUsd.toFixed(4)}` : "",
    work: workView(t, work),
  };
}

/** Steps that are shown; earlier ones are folded. */
const SHOWN_STEPS = 6;
const SIGNS = { runs: "…", done: "✓", failed: "✗" } as const;

function workView(t: ConsoleMessages, { steps, trail, lines, words }: LiveWork): Markup {
  const plan = stepLines(steps ?? [])
    .split("\n")
    .filter((line) => line !== "");
  const earlier = trail.slice(0, -SHOWN_STEPS);
  return html`${plan.length > 0 && html`<ul class="plan-steps">${plan.map((line) => html`<li>${visible(line)}</li>`)}</ul>`}
${earlier.length > 0 && html`<details class="earlier"><summary>${t.earlierSteps(earlier.length)}</summary><ol class="trail">${earlier.map((step) => stepView(t, step))}</ol></details>`}
${trail.length > 0 && html`<ol class="trail">${trail.slice(-SHOWN_STEPS).map((step) => stepView(t, step))}</ol>`}
${lines.trim() !== "" && html`<pre class="output" data-lines>${visible(lines.trimEnd())}</pre>`}
${words.trim() !== "" && html`<div class="text">${markdown(words)}</div>`}`;
}

function stepView(
  t: ConsoleMessages,
  { kind, state, detail, note, end, startedAt, endedAt }: WorkStep,
): Markup {
  const chat = chatMessagesFor(t.locale);
  const said = end === undefined ? note : chat.agentEnd(end.end, end.files);
  const took = endedAt - startedAt;
  return html`<li class="${state}"><span class="sign" aria-hidden="true">${SIGNS[state]}</span> <span class="verb">${chat.step[kind]}</span> <code>${visible(detail)}</code>${said !== "" && html` <span class="meta">${visible(said)}</span>`}${took >= 2_000 && html` <span class="meta">${duration(took)}</span>`}</li>`;
}

function progressText(t: ConsoleMessages, { event, agent }: LiveWork): string | null {
  const words = t.chatEvents;
  switch (event?.type) {
    case "decided":
      return words.decided(agent ?? agentOfRoute(event.decision.route));
    case "thinking":
      return words.thinking(event.agent);
    case "proposed":
      return words.proposed(event.commands);
    case "job-started":
      return words.jobStarted;
    case "job-finished":
      return words.jobFinished;
    case "tool":
      return words.tool(event.name);
    case "progress":
      // The cost is shown beside it.
      return words.progress({ ...event, costUsd: 0 });
    case "drafting": {
      const chat = chatMessagesFor(t.locale);
      return event.lines > 0 ? chat.writesPatch(event.lines) : chat.writes;
    }
    case "notice":
      return event.texts?.[t.locale] ?? event.text;
    default:
      return null;
  }
}

/** The events that a page subscribes to. */
export type PageInterest =
  | { readonly kind: "chat"; readonly channel: string; readonly chatId: string }
  | { readonly kind: "job"; readonly jobId: string }
  | { readonly kind: "jobs"; readonly userId: string | null };

interface PageEvent {
  readonly event: "changed" | "work" | "output" | "tail";
  readonly data: Readonly<Record<string, string>>;
}

const CHANGED: PageEvent = { event: "changed", data: {} };

/** The meaning of an event for a page; null if it has none. */
function toPageEvent(
  { mask }: Pick<WebHost, "mask">,
  event: ServeEvent,
  interest: PageInterest,
): PageEvent | null {
  switch (interest.kind) {
    case "chat": {
      // A job that is taken back elsewhere changes the buttons of its reply.
      if (event.type === "job" && event.output === undefined) return CHANGED;
      if (!("message" in event) || event.type === "begun" || event.type === "left") return null;
      const { message } = event;
      if (message.channel !== interest.channel || message.chatId !== interest.chatId) return null;
      if (event.type !== "chat") return CHANGED;
      return { event: "work", data: { message: message.id } };
    }
    case "job": {
      if (event.type === "job" && event.jobId === interest.jobId)
        return event.output === undefined ? CHANGED : { event: "output", data: { text: mask(event.output) } };
      if (event.type !== "chat") return null;
      const inner = event.event;
      if (!("jobId" in inner) || inner.jobId !== interest.jobId) return null;
      return inner.type === "job-output" ? { event: "output", data: { text: inner.text } } : CHANGED;
    }
    case "jobs": {
      if (event.type === "job")
        return event.output === undefined && interest.userId === null ? CHANGED : null;
      if (event.type !== "chat" || !/^job-(started|finished)|undone$/.test(event.event.type)) return null;
      return interest.userId === null || interest.userId === event.message.userId ? CHANGED : null;
    }
  }
}

export type Every = (ms: number, callback: () => void) => () => void;

const LOOK_MS = 2_000;

interface WatchedJob {
  /** Null until it was looked at once. */
  seen: string | null;
  readonly listeners: Set<() => void>;
}

/** Jobs of other processes send no events: their journals are polled while a page shows them, each once a round. */
function createWatch(viewerJobs: Pick<ViewerJobs, "version" | "latest">, every: Every) {
  /** By job, and under no name the list of all. */
  const watched = new Map<string, WatchedJob>();
  const look = (name: string) => (name === "" ? viewerJobs.latest() : viewerJobs.version(name));
  const state = { stop: () => {}, looking: false };

  /** An item that cannot be checked now is checked in the next round. */
  async function round(): Promise<void> {
    if (state.looking) return;
    state.looking = true;
    for (const [name, one] of [...watched]) {
      const now = await look(name).catch(() => one.seen);
      if (now === one.seen) continue;
      const isFirst = one.seen === null;
      one.seen = now;
      if (!isFirst) for (const listener of one.listeners) listener();
    }
    state.looking = false;
  }

  return (interest: Exclude<PageInterest, { kind: "chat" }>, changed: () => void): (() => void) => {
    const name = interest.kind === "job" ? interest.jobId : "";
    if (watched.size === 0) state.stop = every(LOOK_MS, () => void round());
    const one: WatchedJob = watched.get(name) ?? { seen: null, listeners: new Set() };
    if (!watched.has(name)) void firstLook(name, one);
    watched.set(name, one);
    // A function of its own: a page may be open twice.
    const listener = () => changed();
    one.listeners.add(listener);
    return () => {
      if (!one.listeners.delete(listener) || one.listeners.size > 0) return;
      watched.delete(name);
      if (watched.size === 0) state.stop();
    };
  };

  async function firstLook(name: string, one: WatchedJob): Promise<void> {
    const now = await look(name).catch(() => null);
    one.seen ??= now;
  }
}

const BEAT_MS = 15_000;
const DRAW_MS = 120;
/** A browser that falls behind by more is disconnected; it reconnects and reloads the page. */
const MOST_WAITING = 256;
/** Of one session at once. A browser keeps six connections to a server at most. */
const MOST_STREAMS = 12;
/** Of them for one page: it may be open in several tabs, and cannot take the streams of all others. */
const MOST_OF_PAGE = 4;

interface Stream {
  readonly page: string;
  beat(): void;
  end(): void;
}

interface StreamRequest {
  /** The hash of the session: with it the stream ends. */
  readonly session: string;
  readonly interest: PageInterest;
  readonly t: ConsoleMessages;
}

export type Streams = ReturnType<typeof createStreams>;

/** All streams of pages. Each ends with its browser, its session or the server. */
export function createStreams(
  host: Pick<WebHost, "bus" | "closing" | "live" | "mask" | "now" | "watchChat"> & {
    readonly access: Pick<WebHost["access"], "session">;
    readonly viewerJobs: Pick<WebHost["viewerJobs"], "version" | "latest" | "output">;
  },
  every: Every,
) {
  const sessions = new Map<string, Set<Stream>>();
  const watch = createWatch(host.viewerJobs, every);
  let stopBeats = () => {};

  /** The user signed out: their pages receive nothing more. */
  function endSession(session: string): void {
    for (const stream of [...(sessions.get(session) ?? [])]) stream.end();
  }

  /** Sessions are also ended by other processes, and by their time. */
  async function beats(): Promise<void> {
    for (const [session, streams] of [...sessions]) {
      const known = await host.access.session(session, host.now().toISOString()).catch(() => undefined);
      if (known === null) endSession(session);
      else for (const stream of [...streams]) stream.beat();
    }
  }

  function keep(session: string, stream: Stream): () => void {
    if (sessions.size === 0) stopBeats = every(BEAT_MS, () => void beats());
    const streams = sessions.get(session) ?? new Set();
    sessions.set(session, streams.add(stream));
    return () => {
      if (!streams.delete(stream) || streams.size > 0) return;
      sessions.delete(session);
      if (sessions.size === 0) stopBeats();
    };
  }

  return {
    endSession,
    /** Server-sent events of one page; null when its session, or the page in it, has too many. */
    open({ session, interest, t }: StreamRequest): Response | null {
      const page = JSON.stringify(interest);
      const streams = [...(sessions.get(session) ?? [])];
      if (streams.length >= MOST_STREAMS) return null;
      if (streams.filter((one) => one.page === page).length >= MOST_OF_PAGE) return null;
      const encoder = new TextEncoder();
      let end = () => {};
      let ended = false;
      const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const send = (text: string) => {
          if ((controller.desiredSize ?? 0) < -MOST_WAITING) return end();
          controller.enqueue(encoder.encode(text));
        };
        const say = ({ event, data }: PageEvent) => send(`event: ${event}\ndata: ${toShownJson(data)}\n\n`);
        const sayTail = async () => {
          if (interest.kind !== "job") return;
          const text = await host.viewerJobs.output(interest.jobId).catch(() => "");
          if (!ended) say({ event: "tail", data: { text: host.mask(text) } });
        };
        const unsubscribe = host.bus.subscribe((event) => {
          const line = toPageEvent(host, event, interest);
          if (line?.event === "work") worked(line.data.message ?? "");
          else if (line !== null) say(line);
        });
        const changed = () => {
          say(CHANGED);
          // Its output in another process is not received here.
          void sayTail();
        };
        /** Words come in small pieces: a page is drawn some times a second at most. */
        const waiting = new Set<string>();
        let stopDrawing = () => {};
        const draw = () => {
          stopDrawing();
          for (const message of waiting) {
            const { work, ...line } = liveLine(t, host.live.of(message), t.working);
            say({ event: "work", data: { message, ...line, html: String(work) } });
          }
          waiting.clear();
        };
        const worked = (message: string) => {
          if (waiting.size === 0) stopDrawing = every(DRAW_MS, draw);
          waiting.add(message);
        };
        const stopWatch =
          interest.kind === "chat" ? host.watchChat(interest, { changed, worked }) : watch(interest, changed);
        const forget = keep(session, { page, beat: () => send(": beat\n\n"), end: () => end() });
        end = () => {
          ended = true;
          unsubscribe();
          stopDrawing();
          stopWatch();
          forget();
          host.closing.removeEventListener("abort", end);
          try {
            controller.close();
          } catch {
            // The browser was faster.
          }
        };
        host.closing.addEventListener("abort", end, { once: true });
        send("retry: 2000\n: hello\n\n");
        // A page was drawn before its stream began: what was printed between them is not lost.
        void sayTail();
      };
      const body = new ReadableStream<Uint8Array>({ start, cancel: () => end() }, { highWaterMark: 1 });
      return new Response(body, {
        headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
      });
    },
  };
}
