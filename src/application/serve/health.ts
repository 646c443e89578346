import type { Config } from "../../config/config.ts";
import type { ModelFailureCode } from "../../domain/models/model-facts.ts";
import { toErrorText, toFaultText } from "../../domain/platform/error-text.ts";
import { readStoreAway } from "../../domain/store/store-trouble.ts";
import type { Reply } from "../ports/chat.ts";
import type { ModelRole, Models } from "../ports/models.ts";
import type { Logger } from "../ports/platform.ts";
import type { Channel, HealthLine, HealthReport, StoreCounts } from "../ports/serve.ts";
import type { Bus } from "./serve-events.ts";

export interface HealthCheck {
  readonly name: string;
  /** Without it nothing can be answered; otherwise it is only reported. */
  readonly required: boolean;
  check(signal: AbortSignal): Promise<Omit<HealthLine, "name" | "required">>;
}

/** Asks all parts at once; one that does not answer in time is named as such and delays nothing. */
export async function checkHealth(
  checks: readonly HealthCheck[],
  limitMs: number,
  after: (ms: number, callback: () => void) => () => void,
): Promise<HealthReport> {
  const lines = await Promise.all(
    checks.map(async ({ name, required, check }): Promise<HealthLine> => {
      const limit = new AbortController();
      let cancel = () => {};
      const late = new Promise<{ ok: boolean; detail: string }>((resolve) => {
        cancel = after(limitMs, () => {
          limit.abort();
          resolve({ ok: false, detail: `no answer within ${limitMs} ms` });
        });
      });
      try {
        return { name, required, ...(await Promise.race([check(limit.signal), late])) };
      } catch (error) {
        return { name, required, ok: false, detail: toErrorText(error) };
      } finally {
        cancel();
      }
    }),
  );
  return { ready: lines.every(({ required, ok }) => ok || !required), checks: lines };
}

const ROLES: readonly ModelRole[] = ["chat", "worker", "coder1", "coder2", "coder3"];

export interface HealthChecksDeps {
  /** Rejects when the store takes no writes. */
  readonly askStore: () => Promise<unknown>;
  /** A file of the program that is gone since the start, or null. */
  readonly findGonePiece: () => string | null;
  readonly models: Models;
  /** The role that answers the route CODE; the other coders need not be set up. */
  readonly defaultCoder: ModelRole;
  /** Null where environments are off; rejects when Docker does not answer. */
  readonly pingDocker: ((signal: AbortSignal) => Promise<string>) | null;
  readonly channels: Iterable<Channel>;
}

/** The parts that `/readyz` asks. The store and the program itself are needed to take a message; the others are for information. */
export function healthChecks(deps: HealthChecksDeps): HealthCheck[] {
  const { askStore, findGonePiece, models, pingDocker, channels, defaultCoder } = deps;
  return [
    {
      name: "store",
      required: true,
      check: async () => {
        await askStore();
        return { ok: true, detail: "answers" };
      },
    },
    {
      name: "program",
      required: true,
      check: async () => {
        const gone = findGonePiece();
        if (gone === null) return { ok: true, detail: "whole" };
        return {
          ok: false,
          detail: `PicoClaw was replaced or moved while it ran: ${gone} is gone`,
          remedy: "restart PicoClaw",
        };
      },
    },
    ...ROLES.map((role) => modelCheck(models, role, role.startsWith("coder") && role !== defaultCoder)),
    {
      name: "docker",
      required: false,
      check: async (signal) => ({
        ok: true,
        detail: pingDocker === null ? "command_executor.enabled: false" : await pingDocker(signal),
      }),
    },
    ...[...channels].map(
      (channel): HealthCheck => ({
        name: `channel ${channel.name}`,
        required: false,
        check: (signal) => channel.check(signal),
      }),
    ),
  ];
}

const NOT_SET_UP: ReadonlySet<ModelFailureCode> = new Set(["no-key", "not-configured"]);

function modelCheck(models: Models, role: ModelRole, isOptional: boolean): HealthCheck {
  const off = (code: ModelFailureCode) => (isOptional && NOT_SET_UP.has(code) ? { off: true } : {});
  return {
    name: `model ${role}`,
    required: false,
    async check(signal) {
      await models.look?.(signal);
      const model = models.forRole(role);
      if (!("generate" in model)) return { ok: false, detail: model.message, ...off(model.code) };
      const checked = await model.check(signal);
      const named = `${model.provider}/${model.model}`;
      if (checked.ok) return { ok: true, detail: `${named}: ${checked.detail}` };
      const remedy = checked.remedy === undefined ? {} : { remedy: checked.remedy };
      return {
        ok: false,
        detail: `${named}: ${checked.failure.message}`,
        ...remedy,
        ...off(checked.failure.code),
      };
    },
  };
}

export interface ServerMetricsDeps {
  readonly bus: Bus;
  readonly startedAt: Date;
  readonly now: () => Date;
  readonly residentBytes: () => number;
  readonly gauges: () => Readonly<Record<string, number>>;
  readonly counts: () => Promise<StoreCounts>;
}

const BUCKETS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;

/** The metrics that Prometheus reads. Written by hand: the usual library takes 16 MB. */
export function createServerMetrics(deps: ServerMetricsDeps): () => Promise<string> {
  const counters = new Map<string, Map<string, number>>();
  const seconds = { sum: 0, count: 0, buckets: BUCKETS.map(() => 0) };
  const add = (name: string, labels: Readonly<Record<string, string>>, amount = 1) => {
    const series = counters.get(name) ?? new Map<string, number>();
    const key = labelsOf(labels);
    counters.set(name, series.set(key, (series.get(key) ?? 0) + amount));
  };
  deps.bus.subscribe((event) => {
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
          add("picoclaw_cost_usd_total", { provider, model }, costUsd ?? 0);
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
  return async () => {
    const counts = await deps.counts();
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
    const gauges = {
      process_resident_memory_bytes: deps.residentBytes(),
      ...deps.gauges(),
      picoclaw_uptime_seconds: Math.floor((deps.now().getTime() - deps.startedAt.getTime()) / 1_000),
      picoclaw_messages_waiting: counts.received,
      picoclaw_messages_working: counts.working,
      picoclaw_replies_waiting: counts.waitingReplies,
      picoclaw_replies_failed: counts.failedReplies,
    };
    for (const [gauge, value] of Object.entries(gauges))
      lines.push(`# TYPE ${gauge} gauge`, `${gauge} ${value}`);
    return `${lines.join("\n")}\n`;
  };
}

/** The name of the failure's text, else its subject: a set of bounded size. */
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

const AGAIN_MS = 60_000;
const MOST_KEPT = 100;

/** Reports a problem, and the same one (by `name`) once a minute while it lasts: an absent store fails several times a second. */
export function createTroubleReporter(
  tell: (line: string) => void,
  now: () => Date,
): (place: string, text: string, name?: string) => void {
  const reportedAt = new Map<string, number>();
  return (place, text, name = `${place}: ${text.split("\n")[0]}`) => {
    const at = now().getTime();
    if (at - (reportedAt.get(name) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    reportedAt.delete(name);
    reportedAt.set(name, at);
    if (reportedAt.size > MOST_KEPT) reportedAt.delete(reportedAt.keys().next().value as string);
    tell(`${place}: ${text}`);
  };
}

/** Masked: a line for people, and the whole error in the log. An outage of the store is reported once, not by every part that meets it. */
export function createServeTroubles(deps: {
  readonly log: (line: string) => void;
  readonly now: () => Date;
  readonly mask: (text: string) => string;
  readonly logger: Pick<Logger, "error">;
}): (error: unknown, where?: string) => void {
  const { mask } = deps;
  const tell = createTroubleReporter(deps.log, deps.now);
  return (error, where = "serve") => {
    const away = readStoreAway(error);
    if (away !== null) {
      const trouble = away === "unreachable" ? "cannot be reached" : "takes no writes";
      tell("store", mask(`${trouble}: ${toErrorText(error)}`), `store ${away}`);
    } else {
      tell(where, mask(toFaultText(error)));
      deps.logger.error("serve", where, "serve.trouble", { error });
    }
  };
}

const HEALTH_MS = 3_000;
const HEALTH_CACHE_MS = 2_000;

export interface ServerHealthDeps extends Pick<HealthChecksDeps, "askStore" | "findGonePiece"> {
  readonly config: () => Pick<Config, "roles" | "command_executor">;
  readonly models: () => Models;
  readonly pingDocker: (host: string, signal: AbortSignal) => Promise<string>;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** Asked again after a short while or with another configuration; one question at a time. */
export function createServerHealth(deps: ServerHealthDeps): () => Promise<HealthReport> {
  const { config, pingDocker } = deps;
  const checks = () => {
    const { roles, command_executor: executor } = config();
    return healthChecks({
      ...deps,
      models: deps.models(),
      defaultCoder: roles.default_coder,
      pingDocker: executor.enabled ? (signal) => pingDocker(executor.docker.host, signal) : null,
      channels: deps.channels.values(),
    });
  };
  let last: {
    readonly settings: object;
    readonly at: number;
    readonly answer: Promise<HealthReport>;
  } | null = null;
  return () => {
    const [settings, at] = [config(), Date.now()];
    if (last === null || last.settings !== settings || at - last.at > HEALTH_CACHE_MS)
      last = { settings, at, answer: checkHealth(checks(), HEALTH_MS, deps.after) };
    return last.answer;
  };
}
