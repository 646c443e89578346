import type { ServeEvent } from "../../application/serve/bus.ts";
import type { ConsoleMessages } from "../../domain/texts/texts.ts";
import type { WebHost } from "./host.ts";
import { liveLine } from "./live-line.ts";

/** What a page wants to hear of. */
export type PageInterest =
  | { readonly kind: "chat"; readonly channel: string; readonly chatId: string }
  | { readonly kind: "job"; readonly jobId: string }
  | { readonly kind: "jobs"; readonly userId: string | null };

export interface PageEvent {
  readonly event: "changed" | "work" | "text" | "output" | "tail";
  readonly data: Readonly<Record<string, string>>;
}

/** What an event means to a page; null where it means nothing to it. */
export function toPageEvent(
  { live, mask }: Pick<WebHost, "live" | "mask">,
  event: ServeEvent,
  interest: PageInterest,
  t: ConsoleMessages,
): PageEvent | null {
  switch (interest.kind) {
    case "chat": {
      // A job that is taken back elsewhere changes the buttons of its reply.
      if (event.type === "job" && event.output === undefined) return { event: "changed", data: {} };
      if (!("message" in event) || event.type === "begun" || event.type === "left") return null;
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
