import type { Bus, ServeEvent } from "./bus.ts";
import type { ModelCall } from "../models/meter.ts";
import type { StoredMessage } from "../ports/channel.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { JournalLine } from "../ports/journal.ts";
import type { Span, Tracing } from "../ports/platform.ts";
import { spansOfJob } from "./spans-of-job.ts";

export interface MessageTracer {
  /** Follows the messages of a server. */
  watch(bus: Bus, known: TracedSources): void;
  /** A model was asked for the message or the task whose group it names. */
  asked(call: ModelCall): void;
  /** Model calls of a group that is no message belong to this span, until it is told otherwise. */
  follow(groupId: string, span: Span | null): void;
}

export interface TracedSources {
  readonly job: (jobId: string) => { readonly job: StoredJob; readonly lines: readonly JournalLine[] } | null;
  /** What was stored with a message that another process may have answered. */
  readonly traceparentOf: (messageId: string) => Promise<string | undefined>;
}

interface OpenTrace {
  readonly span: Span;
  readonly jobs: Set<string>;
  /** Since when it is being decided where it goes. */
  deciding: Date;
}

/** Spans of what happens to a message after it was stored: it waits, is answered, and the reply is sent. */
export function createMessageTracer(tracing: Tracing, now: () => Date): MessageTracer {
  const inHand = new Map<string, OpenTrace>();
  const followed = new Map<string, Span>();

  function begin(message: StoredMessage): void {
    const parent = message.traceparent;
    const facts = { "picoclaw.message_id": message.id, channel: message.channel };
    tracing.begin("queue wait", { parent, at: new Date(message.receivedAt), facts }).end();
    const attempt = message.attempts;
    const span = tracing.begin("answer", { parent, kind: "consumer", facts: { ...facts, attempt } });
    inHand.set(message.id, { span, jobs: new Set(), deciding: now() });
  }

  function follow(event: Extract<ServeEvent, { type: "chat" }>): void {
    const one = inHand.get(event.message.id);
    if (one === undefined) return;
    const { event: said } = event;
    if (said.type === "job-started") one.jobs.add(said.jobId);
    if (said.type !== "decided") return;
    const { route, source, confidence } = said.decision;
    const facts = { route, source, confidence };
    tracing.begin("route", { parent: one.span.traceparent, at: one.deciding, facts }).end();
    one.deciding = now();
  }

  function end(event: Extract<ServeEvent, { type: "answered" }>, known: TracedSources): void {
    const one = inHand.get(event.message.id);
    if (one === undefined) return;
    inHand.delete(event.message.id);
    const { reply } = event;
    for (const { job_id } of reply.jobs) one.jobs.add(job_id);
    for (const jobId of one.jobs) traceJob(one.span, known.job(jobId));
    const facts = {
      ok: reply.ok,
      route: reply.decision?.route,
      jobs: one.jobs.size,
      "gen_ai.usage.input_tokens": reply.usage?.inputTokens,
      "gen_ai.usage.output_tokens": reply.usage?.outputTokens,
      cost_usd: reply.usage?.costUsd,
    };
    one.span.end({ facts, error: reply.ok ? undefined : "failed" });
  }

  function traceJob(parent: Span, found: ReturnType<TracedSources["job"]>): void {
    if (found === null) return;
    const { whole, parts } = spansOfJob(found.job, found.lines);
    const { begun: at, ended, facts, error } = whole;
    const job = tracing.begin(whole.name, { parent: parent.traceparent, at, facts });
    job.end({ at: ended, error });
    for (const part of parts)
      tracing
        .begin(part.name, { parent: job.traceparent, at: part.begun, facts: part.facts })
        .end({ at: part.ended, error: part.error });
  }

  async function traceSending(
    event: Extract<ServeEvent, { type: "delivered" }>,
    traceparentOf: TracedSources["traceparentOf"],
  ): Promise<void> {
    const { channel, ok, messageId, attempt, ms } = event;
    const ended = now();
    const parent = messageId === undefined ? undefined : await traceparentOf(messageId);
    const at = new Date(ended.getTime() - ms);
    const facts = { channel, attempt, "picoclaw.message_id": messageId };
    tracing
      .begin("reply send", { parent, at, kind: "client", facts })
      .end({ at: ended, error: ok ? undefined : "not delivered" });
  }

  return {
    watch(bus, known) {
      bus.subscribe((event) => {
        if (event.type === "begun") begin(event.message);
        else if (event.type === "chat") follow(event);
        else if (event.type === "answered") end(event, known);
        else if (event.type === "left") {
          inHand.get(event.message.id)?.span.end({ error: "given back" });
          inHand.delete(event.message.id);
        } else if (event.type === "delivered")
          // A store that does not answer costs the span its parent, nothing else.
          void traceSending(event, (id) => known.traceparentOf(id).catch(() => undefined));
      });
    },
    asked(call) {
      const messageId = call.groupId.slice(call.groupId.lastIndexOf("#") + 1);
      const parent = inHand.get(messageId)?.span ?? followed.get(call.groupId);
      if (parent === undefined) return;
      tracing
        .begin("model call", {
          parent: parent.traceparent,
          at: call.begun,
          kind: "client",
          facts: {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": call.provider,
            "gen_ai.request.model": call.model,
            "gen_ai.usage.input_tokens": call.usage?.inputTokens,
            "gen_ai.usage.output_tokens": call.usage?.outputTokens,
            cost_usd: call.costUsd,
            role: call.role,
            local: call.local,
          },
        })
        .end({ at: call.ended, error: call.failure ?? undefined });
    },
    follow(groupId, span) {
      if (span === null) followed.delete(groupId);
      else followed.set(groupId, span);
    },
  };
}
