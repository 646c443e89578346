import type { JobArchive, JournalLine, StoredJob } from "../ports/jobs.ts";
import type { ModelCall } from "../ports/models-meter.ts";
import type { Span, SpanFacts, Tracing } from "../ports/platform.ts";
import type { StoredMessage } from "../ports/serve.ts";
import type { Bus, ServeEvent } from "./serve-events.ts";

interface JobSpan {
  readonly name: string;
  readonly begun: Date;
  readonly ended: Date;
  readonly facts: SpanFacts;
  readonly error?: string;
}

/** How a job's time was spent, by its journal. Of a command only the kind is used: its text may be anything. */
function spansOfJob(job: StoredJob, lines: readonly JournalLine[]) {
  const begun = new Date(job.createdAt);
  const sealed = new Date(job.finishedAt);
  const parts = lines.flatMap(({ at, event }) => toJobSpans(new Date(at), event, lines));
  const firstCommand = lines.find(({ event }) => event.type === "command_started");
  const staged = firstCommand ?? lines.find(({ event }) => event.type === "job_started");
  if (staged !== undefined)
    parts.unshift({ name: "job stage", begun, ended: new Date(staged.at), facts: { kind: job.kind } });
  const swap = lines.find(({ event }) => event.type === "committed" || event.type === "conflict");
  const done = lines.findLast(
    ({ event }) => event.type === "command_finished" || event.type === "check_finished",
  );
  if (done !== undefined && (job.outcome === "committed" || job.outcome === "staged"))
    parts.push({
      name: "job seal",
      begun: new Date(done.at),
      ended: latest(new Date(done.at), sealed),
      facts: { changes: job.changes.length },
    });
  if (swap !== undefined) {
    const conflict = swap.event.type === "conflict" && { error: "conflict" };
    parts.push({ name: "job commit", begun: sealed, ended: new Date(swap.at), facts: {}, ...conflict });
  }
  const whole: JobSpan = {
    name: "job",
    begun,
    ended: parts.map(({ ended }) => ended).reduce(latest, sealed),
    facts: {
      "picoclaw.job_id": job.jobId,
      outcome: job.outcome,
      commands: job.totalCmds,
      failed_commands: job.failedCmds,
      changes: job.changes.length,
    },
    ...(!job.success && { error: job.outcome === "committed" ? "commands failed" : job.outcome }),
  };
  return { whole, parts };
}

function toJobSpans(ended: Date, event: JournalLine["event"], lines: readonly JournalLine[]): JobSpan[] {
  if (event.type === "command_finished") {
    const { index, attempt, success, duration } = event;
    const command = commandOf(lines, index, attempt);
    const facts = { index, attempt, type: command?.type, action: command?.action };
    const failed = !success && { error: "failed" };
    return [{ name: "job command", begun: before(ended, duration), ended, facts, ...failed }];
  }
  if (event.type === "check_finished") {
    const { over, attempt, exit_code, duration } = event;
    const red = exit_code !== 0 && { error: exit_code === null ? "did not end" : "red" };
    const facts = { over, attempt, exit_code };
    return [{ name: "check", begun: before(ended, duration), ended, facts, ...red }];
  }
  return [];
}

function commandOf(lines: readonly JournalLine[], index: number, attempt: number | undefined) {
  for (const { event } of lines)
    if (event.type === "command_started" && event.index === index && event.attempt === attempt)
      return event.command;
  return undefined;
}

const before = (at: Date, ms: number): Date => new Date(at.getTime() - ms);
const latest = (one: Date, other: Date): Date => (one > other ? one : other);

export type MessageTracer = ReturnType<typeof createMessageTracer>;

interface TracedSources {
  readonly archive: () => Pick<JobArchive, "read" | "events">;
  readonly traceparentOf: (messageId: string) => Promise<string | undefined>;
}

interface OpenTrace {
  readonly span: Span;
  readonly jobs: Set<string>;
  /** Since when its route is being decided. */
  deciding: Date;
}

export function createMessageTracer(tracing: Tracing, now: () => Date) {
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
    for (const jobId of one.jobs) traceJob(one.span, known, jobId);
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

  function traceJob(parent: Span, known: TracedSources, jobId: string): void {
    const archive = known.archive();
    const found = archive.read(jobId);
    if (found === null) return;
    const { whole, parts } = spansOfJob(found, archive.events(jobId));
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
    watch(bus: Bus, known: TracedSources): void {
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
    /** A model was asked for the message or the task whose group it names. */
    asked(call: ModelCall): void {
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
    /** Model calls of a group that is not a message belong to this span, until a later call changes that. */
    follow(groupId: string, span: Span | null): void {
      if (span === null) followed.delete(groupId);
      else followed.set(groupId, span);
    },
  };
}
