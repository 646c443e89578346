import type { ServeEvent } from "../../application/inbox/bus.ts";
import type { ConsoleMessages } from "../../domain/texts/texts.ts";
import type { WebHost } from "./host.ts";
import { liveLine } from "./parts/live-line.ts";

/** What a page wants to hear of. */
export type Interest =
  | { readonly kind: "chat"; readonly channel: string; readonly chatId: string }
  | { readonly kind: "job"; readonly jobId: string }
  | { readonly kind: "jobs"; readonly userId: string | null };

interface Line {
  readonly event: "changed" | "work" | "text" | "output" | "tail";
  readonly data: Readonly<Record<string, string>>;
}

const [BEAT_MS, LOOK_MS] = [15_000, 2_000];
/** A browser that reads slower than this is let go; it comes back and reads the page anew. */
const MOST_WAITING = 256;

/** Server-sent events of one page. Ends when the browser goes, or the server does. */
export function liveStream(
  host: Pick<WebHost, "bus" | "closing" | "viewerJobs" | "live" | "mask">,
  interest: Interest,
  t: ConsoleMessages,
  every: (ms: number, callback: () => void) => () => void,
): Response {
  const encoder = new TextEncoder();
  let end = () => {};
  /** Jobs of other processes tell nobody here: their journal is looked at now and then. */
  function watchElsewhere(changed: () => void): () => void {
    if (interest.kind === "chat") return () => {};
    const look = () =>
      interest.kind === "job" ? host.viewerJobs.journal(interest.jobId).length : host.viewerJobs.latest();
    let seen = look();
    return every(LOOK_MS, () => {
      const now = look();
      if (now !== seen) changed();
      seen = now;
    });
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const send = (text: string) => {
          if ((controller.desiredSize ?? 0) < -MOST_WAITING) return end();
          controller.enqueue(encoder.encode(text));
        };
        const say = ({ event, data }: Line) => send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
        const unsubscribe = host.bus.subscribe((event) => {
          const line = lineOf(host, event, interest, t);
          if (line !== null) say(line);
        });
        const stopBeat = every(BEAT_MS, () => send(": beat\n\n"));
        const stopLook = watchElsewhere(() => say({ event: "changed", data: {} }));
        end = () => {
          unsubscribe();
          stopBeat();
          stopLook();
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
        if (interest.kind === "job")
          say({ event: "tail", data: { text: host.mask(host.viewerJobs.output(interest.jobId)) } });
      },
      cancel: () => end(),
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
  });
}

function lineOf(
  { live, mask }: Pick<WebHost, "live" | "mask">,
  event: ServeEvent,
  interest: Interest,
  t: ConsoleMessages,
): Line | null {
  switch (interest.kind) {
    case "chat": {
      // A job that is taken back elsewhere changes the buttons of its reply.
      if (event.type === "job" && event.output === undefined) return { event: "changed", data: {} };
      if (!("message" in event)) return null;
      const { message } = event;
      if (message.channel !== interest.channel || message.chatId !== interest.chatId) return null;
      if (event.type !== "chat") return { event: "changed", data: {} };
      if (event.event.type === "text")
        return { event: "text", data: { message: message.id, text: event.event.text } };
      const line = liveLine(t, live.of(message.id), t.working);
      return { event: "work", data: { message: message.id, ...line } };
    }
    case "job": {
      if (event.type === "job" && event.jobId === interest.jobId)
        return event.output === undefined
          ? { event: "changed", data: {} }
          : { event: "output", data: { text: mask(event.output) } };
      if (event.type !== "chat") return null;
      const inner = event.event;
      if (!("jobId" in inner) || inner.jobId !== interest.jobId) return null;
      return inner.type === "job-output"
        ? { event: "output", data: { text: inner.text } }
        : { event: "changed", data: {} };
    }
    case "jobs": {
      if (event.type === "job")
        return event.output === undefined && interest.userId === null ? { event: "changed", data: {} } : null;
      if (event.type !== "chat" || !/^job-(started|finished)|undone$/.test(event.event.type)) return null;
      return interest.userId === null || interest.userId === event.message.userId
        ? { event: "changed", data: {} }
        : null;
    }
  }
}
