import type { ConsoleMessages } from "../../domain/texts/texts.ts";
import type { WebHost } from "./host.ts";
import { type PageEvent, type PageInterest, toPageEvent } from "./live-lines.ts";
import { liveLine } from "./live-line.ts";
import { createWatch, type Every } from "./watch.ts";

const BEAT_MS = 15_000;
/** A browser that reads slower than this is let go; it comes back and reads the page anew. */
const MOST_WAITING = 256;
/** Of one session at once. A browser keeps six connections to a server at most. */
const MOST_STREAMS = 12;

interface Stream {
  beat(): void;
  end(): void;
}

export interface StreamRequest {
  /** The hash of the session: with it the stream ends. */
  readonly session: string;
  readonly interest: PageInterest;
  readonly t: ConsoleMessages;
}

export interface Streams {
  /** Server-sent events of one page; null when its session has too many. */
  open(request: StreamRequest): Response | null;
  /** Somebody signed out: nothing more is told to their pages. */
  endSession(session: string): void;
}

/** All streams of pages. Each ends when its browser goes, its session does, or the server. */
export function createStreams(
  host: Pick<WebHost, "bus" | "closing" | "live" | "mask" | "now" | "watchChat"> & {
    readonly access: Pick<WebHost["access"], "session">;
    readonly viewerJobs: Pick<WebHost["viewerJobs"], "version" | "latest" | "output">;
  },
  every: Every,
): Streams {
  const sessions = new Map<string, Set<Stream>>();
  const watch = createWatch(host.viewerJobs, every);
  let stopBeats = () => {};

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
    open({ session, interest, t }) {
      if ((sessions.get(session)?.size ?? 0) >= MOST_STREAMS) return null;
      const encoder = new TextEncoder();
      let end = () => {};
      let ended = false;
      const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const send = (text: string) => {
          if ((controller.desiredSize ?? 0) < -MOST_WAITING) return end();
          controller.enqueue(encoder.encode(text));
        };
        const say = ({ event, data }: PageEvent) =>
          send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
        const sayTail = async () => {
          if (interest.kind !== "job") return;
          const text = await host.viewerJobs.output(interest.jobId).catch(() => "");
          if (!ended) say({ event: "tail", data: { text: host.mask(text) } });
        };
        const unsubscribe = host.bus.subscribe((event) => {
          const line = toPageEvent(host, event, interest, t);
          if (line !== null) say(line);
        });
        const changed = () => {
          say({ event: "changed", data: {} });
          // What it prints in another process is not heard here.
          void sayTail();
        };
        const worked = (message: string) =>
          say({ event: "work", data: { message, ...liveLine(t, host.live.of(message), t.working) } });
        const stopWatch =
          interest.kind === "chat" ? host.watchChat(interest, { changed, worked }) : watch(interest, changed);
        const forget = keep(session, { beat: () => send(": beat\n\n"), end: () => end() });
        end = () => {
          ended = true;
          unsubscribe();
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
