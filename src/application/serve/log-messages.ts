import { readTraceparent } from "../../domain/platform/traceparent.ts";
import type { Logger } from "../ports/logger.ts";
import type { Bus } from "./bus.ts";

/**
 * Two lines a message. The second names its group and its jobs: with these ids whoever reads the log finds everything
 * that was done for one message, from the webhook to its last command, and its trace where there is one.
 */
export function logMessages(bus: Bus, log: Pick<Logger, "info">): void {
  bus.subscribe((event) => {
    if (event.type !== "received" && event.type !== "answered") return;
    const { id, channel, eventId, traceparent } = event.message;
    const traceId = readTraceparent(traceparent)?.traceId;
    const ids = { message_id: id, channel, event_id: eventId, trace_id: traceId };
    if (event.type === "received") return log.info("inbox", "Message received", "inbox.received", ids);
    const { reply, ms } = event;
    log.info("inbox", "Message answered", "inbox.answered", {
      ...ids,
      group_id: reply.groupId ?? null,
      job_ids: reply.jobs.map(({ job_id }) => job_id),
      route: reply.decision?.route ?? null,
      ok: reply.ok,
      duration: ms,
    });
  });
}
