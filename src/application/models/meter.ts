import { estimateTokens, type TaskUsage } from "../../domain/models/model-facts.ts";
import { createAdvise } from "../platform/advise.ts";
import { joinLine, waitUntil } from "../platform/waiting.ts";
import type {
  Model,
  ModelEvent,
  ModelFailure,
  ModelRequest,
  ModelRole,
  Models,
  ModelUsage,
  UsageEntry,
  UsageStore,
} from "../ports/models.ts";
import type {
  BudgetNotice,
  Meter,
  MeterContext,
  MeteredModels,
  ModelCall,
  StandIn,
  UsedByMessage,
} from "../ports/models-meter.ts";
import type { Logger } from "../ports/platform.ts";

export interface Candidate {
  readonly role: ModelRole;
  readonly model: Model | ModelFailure;
}

/** Failures that another model may not have. A stopped, refused or over-budget request stays so. */
const CANNOT_ANSWER: ReadonlySet<ModelFailure["code"]> = new Set([
  "unreachable",
  "timeout",
  "rate-limited",
  "server-error",
  "unauthorized",
  "unknown-model",
  "no-key",
  "no-images",
  "not-configured",
]);

/** The first of the models that can answer, as long as no part of an answer was given; `note` is called if it is another one. */
export function withFallback(
  first: Candidate,
  others: readonly Candidate[],
  note: (standIn: StandIn) => void,
): Model | ModelFailure {
  const usable = [first, ...others].flatMap(({ role, model }) =>
    "generate" in model ? [{ role, model }] : [],
  );
  const [best] = usable;
  if (best === undefined || others.length === 0) return first.model;
  let current = best.model;
  async function* generate(request: ModelRequest): AsyncGenerator<ModelEvent, void> {
    let code = "generate" in first.model ? undefined : first.model.code;
    for (const [place, { role, model }] of usable.entries()) {
      current = model;
      const isLast = place === usable.length - 1;
      let given = false;
      for await (const event of model.generate(request)) {
        if (event.type === "failed" && !given && !isLast && CANNOT_ANSWER.has(event.failure.code)) {
          code ??= event.failure.code;
          break;
        }
        given ||= event.type === "text" || event.type === "reasoning" || event.type === "tool-call";
        if (event.type === "finished" && code !== undefined && role !== first.role)
          note({ asked: first.role, answered: role, model: model.model, code });
        yield event;
        if (event.type === "finished" || event.type === "failed") return;
      }
    }
  }
  return {
    get provider() {
      return current.provider;
    },
    get model() {
      return current.model;
    },
    get local() {
      return current.local;
    },
    get family() {
      return current.family;
    },
    get seesImages() {
      return current.seesImages;
    },
    get window() {
      return current.window;
    },
    generate,
    check: (signal) => best.model.check(signal),
    identify: async (signal) => (await current.identify?.(signal)) ?? null,
  };
}

export interface MeterDeps {
  readonly models: Models;
  readonly usage: UsageStore;
  /** In US dollars; null if the model's price is unknown. */
  readonly costOf: (model: Pick<Model, "provider" | "model" | "local">, usage: ModelUsage) => number | null;
  /** Coders that are asked when one cannot answer, in this order; default: none. */
  readonly fallback?: readonly ModelRole[];
  readonly budget: {
    readonly daily: number | null;
    readonly on_exceed: "local" | "refuse";
    /** The cost limit of one message; null or absent: no limit. */
    readonly perMessage?: number | null;
  };
  readonly now: () => Date;
  readonly log: Logger;
  /** When the budget's day began. */
  readonly startOfDay: (at: Date) => Date;
  /** For tracing; must not throw. */
  readonly onCall?: ((call: ModelCall) => void) | undefined;
}

const LOOK_MS = 2_000;
/** From which share of the budget on a reply warns. */
const WARN_AT = 0.8;

export function createMeter(given: MeterDeps): Meter {
  const advise = createAdvise(given.log);
  const deps: MeterDeps = {
    ...given,
    costOf: (model, usage) => advise("price", null, () => given.costOf(model, usage)),
  };
  const day = openDay();
  return {
    async open(context, chosen = {}, asked) {
      const account = openAccount(deps, context, day);
      const others = (role: ModelRole) =>
        role.startsWith("coder") ? (deps.fallback ?? []).filter((other) => other !== role) : [];
      const look = async (signal: AbortSignal, role?: ModelRole) => {
        if (role === undefined) await deps.models.look?.(signal);
        else for (const one of [role, ...others(role)]) await deps.models.look?.(signal, one, chosen[one]);
      };
      await Promise.all([account.look(), asked && look(AbortSignal.timeout(LOOK_MS), asked)]);
      const standIns = new Map<string, StandIn>();
      const meter = (sums: UsageSums | null): MeteredModels => {
        const own = (role: ModelRole): Model | ModelFailure => {
          const model = deps.models.forRole(role, chosen[role]);
          if (!("generate" in model)) return model;
          if (account.isWithoutPrice(model)) return account.refusalOfPrice(model);
          const used = !model.local && account.isOver() ? account.instead() : model;
          return "generate" in used ? meterModel(account, role, used, sums) : used;
        };
        return {
          models: {
            look,
            forRole(role) {
              return withFallback(
                { role, model: own(role) },
                others(role).map((other) => ({ role: other, model: own(other) })),
                (standIn) => void standIns.set(`${standIn.asked} ${standIn.answered}`, standIn),
              );
            },
          },
          standIns: () => [...standIns.values()],
          notices: account.notices,
          used: sums === null ? account.used : () => ({ ...sums }),
          part: () => meter(createUsageSums()),
          workers: {
            async refusal() {
              await account.look();
              return account.isOver() ? account.refusal() : null;
            },
            count: (kind, used) => account.recordWorker(kind, used),
          },
        };
      };
      return meter(null);
    },
  };
}

/** The day's budget, shared by all messages of this process. */
type BudgetDay = ReturnType<typeof openDay>;

function openDay() {
  let start = 0;
  let knownUsd = 0;
  const underWay = new Set<{ readonly usd: number }>();
  const waiting: (() => void)[] = [];
  const turnTo = (day: Date) => {
    if (day.getTime() === start) return;
    start = day.getTime();
    knownUsd = 0;
  };
  return {
    /** The sum known to be spent since then: by this process, or by all according to the last look at the store. */
    spentSince(day: Date, storedUsd: number): number {
      turnTo(day);
      knownUsd = Math.max(knownUsd, storedUsd);
      return knownUsd;
    },
    add(day: Date, costUsd: number): void {
      turnTo(day);
      knownUsd += costUsd;
    },
    /** The expected cost of requests that have begun and not ended. */
    underWayUsd: () => [...underWay].reduce((sum, { usd }) => sum + usd, 0),
    /** A request begins; the answer ends it, once. */
    begin(usd: number): () => void {
      const request = { usd };
      underWay.add(request);
      return () => {
        if (!underWay.delete(request)) return;
        for (const wake of [...waiting]) wake();
      };
    },
    /** Resolves when a request has ended; at once when none is under way. */
    async nextEnd(signal: AbortSignal): Promise<void> {
      if (underWay.size > 0) await waitUntil(signal, (go) => joinLine(waiting, go));
    },
  };
}

type UsageSums = { -readonly [Name in keyof UsedByMessage]: UsedByMessage[Name] };

function createUsageSums(): UsageSums {
  return {
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    contextTokens: 0,
    costUsd: 0,
    isUnpriced: false,
  };
}

function addUsage(
  sums: UsageSums,
  { inputTokens, outputTokens, cachedTokens }: ModelUsage,
  costUsd: number | null,
): void {
  sums.inputTokens += inputTokens;
  sums.outputTokens += outputTokens;
  sums.cachedTokens += Math.min(cachedTokens, inputTokens);
  sums.contextTokens = inputTokens + outputTokens;
  sums.costUsd += costUsd ?? 0;
  sums.isUnpriced ||= costUsd === null && inputTokens + outputTokens > 0;
}

/** The usage of one message, and the state of the day's budget. */
type Account = ReturnType<typeof openAccount>;

function openAccount(deps: MeterDeps, context: MeterContext, day: BudgetDay) {
  const { models, usage, budget, now } = deps;
  const { daily } = budget;
  const sums = createUsageSums();
  const hasBudget = daily !== null || (budget.perMessage ?? null) !== null;
  const notices = new Map<BudgetNotice["kind"], BudgetNotice>();
  let spentUsd = 0;
  const note = (notice: BudgetNotice) => void notices.set(notice.kind, notice);
  const account = {
    notices: () => [...notices.values()],
    used: () => ({ ...sums }),
    /** Reads the day's cost again. */
    async look(): Promise<void> {
      if (daily === null) return;
      // If the spent sum cannot be read, the day's last known sum applies.
      const start = deps.startOfDay(now());
      const stored = await usage.spent(start).catch(() => undefined);
      if (stored !== undefined) spentUsd = day.spentSince(start, stored);
      // From now on a local model answers, so its name is needed.
      if (account.isOver() && budget.on_exceed === "local") await models.look?.(AbortSignal.timeout(LOOK_MS));
    },
    /** Waits while others under way may spend the rest of the day's budget. Call the result when the request ended; null: it is spent. */
    async admit(model: Model, request: ModelRequest): Promise<(() => void) | null> {
      await account.look();
      if (account.isOver()) return null;
      // Prices are read from the list of models, which is not loaded before it is needed.
      if (daily === null) return day.begin(0);
      const expected = {
        inputTokens: requestTokens(request),
        outputTokens: EXPECTED_TOKENS,
        cachedTokens: 0,
      };
      for (;;) {
        const underWayUsd = day.underWayUsd();
        const isFree = underWayUsd === 0 || spentUsd + underWayUsd < daily;
        if (isFree || request.signal.aborted) return day.begin(deps.costOf(model, expected) ?? 0);
        await day.nextEnd(request.signal);
        await account.look();
        if (account.isOver()) return null;
      }
    },
    isOver: () => daily !== null && spentUsd >= daily,
    /** The local model in a cloud coder's place; the refusal if there is none. */
    instead(): Model | ModelFailure {
      const dailyUsd = daily ?? 0;
      const local = budget.on_exceed === "local" ? localModel(models) : undefined;
      if (local !== undefined) {
        note({ kind: "local", spentUsd, dailyUsd, model: local.model });
        return local;
      }
      return account.refusal();
    },
    refusal(): ModelFailure {
      // The figures only; the texts are added where they are shown.
      const message = `$${spentUsd.toFixed(2)} / $${(daily ?? 0).toFixed(2)}`;
      return { code: "over-budget", message, retryable: false };
    },
    /** A budget cannot be kept with a model whose price is unknown. */
    isWithoutPrice: (model: Model) =>
      hasBudget &&
      !model.local &&
      deps.costOf(model, { inputTokens: 0, outputTokens: 0, cachedTokens: 0 }) === null,
    // The name only, as above.
    refusalOfPrice: ({ model }: Model): ModelFailure => ({
      code: "no-price",
      message: model,
      retryable: false,
    }),
    /** Returns the cost; null if it is unknown. */
    async record(role: ModelRole, { provider, model, local }: Model, used: ModelUsage) {
      const cost = deps.costOf({ provider, model, local }, used);
      await account.add({ role, provider, model, local, ...used, costUsd: cost });
      return cost;
    },
    /** Call it when a model is asked, and the returned function when the call has ended. */
    call(role: ModelRole, { provider, model, local }: Model) {
      const begun = now();
      return (used: ModelUsage | null, failure: string | null) =>
        deps.onCall?.({
          ...context,
          role,
          provider,
          model,
          local,
          begun,
          ended: now(),
          usage: used,
          costUsd: used === null ? null : deps.costOf({ provider, model, local }, used),
          failure,
        });
    },
    async recordWorker(kind: string, { inputTokens, outputTokens, costUsd }: TaskUsage): Promise<void> {
      const by = { provider: "worker-cli", model: kind, local: false };
      const used = { inputTokens, outputTokens, cachedTokens: 0 };
      // Some workers report their cost; for the others it is known if a price is configured.
      const cost = costUsd > 0 ? costUsd : deps.costOf(by, used);
      if (cost === null && daily !== null && inputTokens + outputTokens > 0)
        note({ kind: "unpriced", spentUsd, dailyUsd: daily, model: kind });
      await account.add({ role: "worker-cli", ...by, ...used, costUsd: cost });
    },
    async add(entry: Omit<UsageEntry, keyof MeterContext | "at">): Promise<void> {
      const { costUsd } = entry;
      addUsage(sums, entry, costUsd);
      spentUsd += costUsd ?? 0;
      // Only a day's budget asks when the day began: the first look at the local time takes the runtime 6 ms.
      if (daily !== null && costUsd !== null && costUsd > 0) day.add(deps.startOfDay(now()), costUsd);
      if (daily !== null && costUsd !== null && costUsd > 0 && spentUsd >= daily * WARN_AT)
        note({ kind: "warn", spentUsd, dailyUsd: daily });
      const at = now().toISOString();
      try {
        await usage.record({ ...context, at, ...entry });
      } catch (cause) {
        deps.log.error("usage", "Usage not recorded", "usage.store_failed", {
          job_id: context.groupId,
          error: String(cause),
        });
      }
    },
  };
  return account;
}

/** `sums`: of a part of the message, which counts beside the whole. */
function meterModel(account: Account, role: ModelRole, model: Model, sums: UsageSums | null): Model {
  return {
    provider: model.provider,
    model: model.model,
    local: model.local,
    family: model.family,
    seesImages: model.seesImages,
    window: model.window,
    isScripted: model.isScripted === true,
    ...(model.insteadOf !== undefined && { insteadOf: model.insteadOf }),
    check: (signal) => model.check(signal),
    identify: async (signal) => (await model.identify?.(signal)) ?? null,
    async *generate(request: ModelRequest) {
      let chosen = model;
      const admitted = model.local ? undefined : await account.admit(model, request);
      if (admitted === null) {
        const other = account.instead();
        if (!("generate" in other)) {
          yield { type: "failed", failure: other };
          return;
        }
        chosen = other;
      }
      const ended = account.call(role, chosen);
      let received = "";
      const settle = async (reported: ModelUsage | null, failure: string | null) => {
        const usage = chosen.local ? reported : countUsage(reported, request, received);
        if (usage !== null) {
          const cost = await account.record(role, chosen, usage);
          if (sums !== null) addUsage(sums, usage, cost);
        }
        admitted?.();
        ended(usage, failure);
      };
      let isSettled = false;
      try {
        for await (const event of chosen.generate(request)) {
          if (event.type === "text" || event.type === "reasoning") received += event.text;
          if (event.type === "tool-call") received += JSON.stringify(event.call);
          if (event.type === "failed" || event.type === "finished") {
            isSettled = true;
            if (event.type === "failed") await settle(null, event.failure.code);
            else {
              received ||= event.answer.text;
              await settle(event.answer.usage, null);
            }
          }
          yield event;
        }
      } finally {
        if (!isSettled) await settle(null, "aborted");
      }
    },
  };
}

/** The length that is expected of an answer; most are shorter. */
const EXPECTED_TOKENS = 4_000;
/** About as many as a large photograph has with most providers. */
const IMAGE_TOKENS = 1_500;
/** Above any window of today's models: a reported figure beyond this is ignored. */
const MOST_TOKENS = 10_000_000;

/** As reported by the server, or estimated without a usable report: answers that failed half-way are paid for. Null without any data. */
function countUsage(reported: ModelUsage | null, request: ModelRequest, received: string): ModelUsage | null {
  if (reported === null && received === "") return null;
  const count = (tokens: number | undefined, estimated: () => number) =>
    tokens !== undefined && tokens > 0 && tokens <= MOST_TOKENS ? tokens : estimated();
  return {
    inputTokens: count(reported?.inputTokens, () => requestTokens(request)),
    outputTokens: count(reported?.outputTokens, () => estimateTokens(received)),
    cachedTokens: reported?.cachedTokens ?? 0,
  };
}

function requestTokens({ system = "", messages, tools = [] }: ModelRequest): number {
  let tokens = estimateTokens(system);
  for (const message of messages) {
    tokens += estimateTokens(message.text);
    if (message.role === "assistant" && message.toolCalls !== undefined)
      tokens += estimateTokens(JSON.stringify(message.toolCalls));
    if (message.role === "user") tokens += (message.images?.length ?? 0) * IMAGE_TOKENS;
  }
  return tokens + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));
}

/** The model that answers in a cloud coder's place: Shiro's, else Mio's. */
function localModel(models: Models): Model | undefined {
  for (const role of ["worker", "chat"] as const) {
    const model = models.forRole(role);
    if ("generate" in model && model.local) return model;
  }
  return undefined;
}
