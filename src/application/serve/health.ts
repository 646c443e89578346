import type { Reply } from "../ports/conversation.ts";
import type { StoreCounts } from "../ports/serve.ts";
import type { Bus } from "./bus.ts";

/** What Prometheus reads. Written by hand: forty lines against the 16 MB that the usual library takes. */
export interface Metrics {
  render(gauges: Readonly<Record<string, number>>, counts: StoreCounts): string;
}

const BUCKETS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;

export function createMetrics(bus: Bus): Metrics {
  const counters = new Map<string, Map<string, number>>();
  const seconds = { sum: 0, count: 0, buckets: BUCKETS.map(() => 0) };
  const add = (name: string, labels: Readonly<Record<string, string>>, amount = 1) => {
    const series = counters.get(name) ?? new Map<string, number>();
    const key = labelsOf(labels);
    counters.set(name, series.set(key, (series.get(key) ?? 0) + amount));
  };
  bus.subscribe((event) => {
    switch (event.type) {
      case "received":
        return add("picoclaw_messages_received_total", { channel: event.message.channel });
      case "delivered":
        return add("picoclaw_deliveries_total", { channel: event.channel, ok: String(event.ok) });
      case "answered": {
        const { message, reply, ms } = event;
        add("picoclaw_messages_answered_total", {
          channel: message.channel,
          route: reply.decision?.route ?? "none",
          ok: String(reply.ok),
        });
        if (!reply.ok) add("picoclaw_failures_total", { kind: failureOf(reply) });
        if (reply.usage !== undefined) {
          const { provider = "none", model = "none" } = reply.model ?? {};
          const { inputTokens, outputTokens, costUsd } = reply.usage;
          add("picoclaw_tokens_total", { provider, model, direction: "in" }, inputTokens);
          add("picoclaw_tokens_total", { provider, model, direction: "out" }, outputTokens);
          add("picoclaw_cost_usd_total", { provider, model }, costUsd);
        }
        seconds.sum += ms / 1_000;
        seconds.count += 1;
        for (const [n, bound] of BUCKETS.entries())
          if (ms / 1_000 <= bound) seconds.buckets[n] = (seconds.buckets[n] ?? 0) + 1;
        return;
      }
      case "chat":
        if (event.event.type === "job-finished")
          add("picoclaw_jobs_total", { success: String(event.event.success) });
        return;
      case "job":
        return;
    }
  });
  return {
    render(gauges, counts) {
      const lines: string[] = [];
      for (const [name, series] of counters) {
        lines.push(`# TYPE ${name} counter`);
        for (const [labels, value] of series) lines.push(`${name}${labels} ${value}`);
      }
      const name = "picoclaw_answer_seconds";
      lines.push(`# TYPE ${name} histogram`);
      for (const [n, bound] of BUCKETS.entries())
        lines.push(`${name}_bucket{le="${bound}"} ${seconds.buckets[n]}`);
      lines.push(`${name}_bucket{le="+Inf"} ${seconds.count}`);
      lines.push(`${name}_sum ${seconds.sum}`, `${name}_count ${seconds.count}`);
      const all = {
        ...gauges,
        picoclaw_messages_waiting: counts.received,
        picoclaw_messages_working: counts.working,
        picoclaw_replies_waiting: counts.waitingReplies,
        picoclaw_replies_failed: counts.failedReplies,
      };
      for (const [gauge, value] of Object.entries(all))
        lines.push(`# TYPE ${gauge} gauge`, `${gauge} ${value}`);
      return `${lines.join("\n")}\n`;
    },
  };
}

/** The name of the text that tells the failure, else what it was about: a set that does not grow. */
function failureOf({ said = [], jobs }: Reply): string {
  if (jobs.some(({ success }) => !success)) return "job";
  for (const one of said) {
    if (one.kind === "say") return one.name;
    if (one.kind === "refusal" || one.kind === "action") return one.kind;
  }
  return "other";
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/["\\\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`))}"`,
  );
  return `{${pairs.join(",")}}`;
}
