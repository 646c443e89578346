import type { Logger } from "../ports/logger.ts";
import type { Model, ModelFailure, ModelRequest, ModelRole, Models, ModelUsage } from "../ports/model.ts";
import type { UsageStore } from "../ports/usage.ts";

/**
 * Models whose use is written down and whose cost stays within the day's budget. The one place where either happens:
 * whoever answers a message takes its models from here.
 */
export interface Meter {
  open(context: MeterContext): Promise<MeteredModels>;
}

export interface MeterContext {
  readonly chatKey: string;
  readonly sessionId: string;
  readonly groupId: string;
}

export interface MeteredModels {
  readonly models: Models;
  /** What the reply has to say about the budget, each once. */
  notices(): readonly BudgetNotice[];
  used(): { readonly inputTokens: number; readonly outputTokens: number; readonly costUsd: number };
}

export type BudgetNotice =
  | { readonly kind: "warn"; readonly spentUsd: number; readonly dailyUsd: number }
  /** A coder's cloud model was replaced by a local one. */
  | { readonly kind: "local"; readonly spentUsd: number; readonly dailyUsd: number; readonly model: string }
  /** Nobody said what this model costs, so the budget does not count it. */
  | {
      readonly kind: "unpriced";
      readonly spentUsd: number;
      readonly dailyUsd: number;
      readonly model: string;
    };

export interface MeterParts {
  readonly models: Models;
  readonly usage: UsageStore;
  /** In US dollars; null when nobody said what the model costs. */
  readonly costOf: (model: Pick<Model, "provider" | "model" | "local">, usage: ModelUsage) => number | null;
  readonly budget: { readonly daily: number | null; readonly on_exceed: "local" | "refuse" };
  readonly now: () => Date;
  readonly log: Logger;
  /** When the budget's day began. */
  readonly startOfDay: (at: Date) => Date;
}

/** From which share of the budget on a reply warns. */
const WARN_AT = 0.8;

export function createMeter(parts: MeterParts): Meter {
  const { models, usage, costOf, budget, now } = parts;
  return {
    async open(context) {
      const sums = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
      const notices = new Map<BudgetNotice["kind"], BudgetNotice>();
      const daily = budget.daily;
      const day = { spentUsd: 0 };
      const look = async () => {
        if (daily === null) return;
        // Without knowing what was spent, the day's last known sum holds.
        const spent = await usage.spent(parts.startOfDay(now())).catch(() => undefined);
        if (spent !== undefined) day.spentUsd = Math.max(spent, sums.costUsd);
      };
      const note = (notice: BudgetNotice) => void notices.set(notice.kind, notice);
      const over = () => daily !== null && day.spentUsd >= daily;
      // The figures only: whoever tells people has the words.
      const refusal = (): ModelFailure => ({
        code: "over-budget",
        message: `$${day.spentUsd.toFixed(2)} / $${(daily ?? 0).toFixed(2)}`,
        retryable: false,
      });
      /** The local model in a cloud coder's place; the refusal where there is none. */
      const instead = (): Model | ModelFailure => {
        const local = budget.on_exceed === "local" ? localModel(models) : undefined;
        if (local === undefined) return refusal();
        note({ kind: "local", spentUsd: day.spentUsd, dailyUsd: daily ?? 0, model: local.model });
        return local;
      };
      const record = async (role: ModelRole, model: Model, used: ModelUsage) => {
        const cost = costOf(model, used);
        const costUsd = cost ?? 0;
        if (cost === null && daily !== null)
          note({ kind: "unpriced", spentUsd: day.spentUsd, dailyUsd: daily, model: model.model });
        sums.inputTokens += used.inputTokens;
        sums.outputTokens += used.outputTokens;
        sums.costUsd += costUsd;
        day.spentUsd += costUsd;
        if (daily !== null && costUsd > 0 && day.spentUsd >= daily * WARN_AT)
          note({ kind: "warn", spentUsd: day.spentUsd, dailyUsd: daily });
        const { provider, local } = model;
        const at = now().toISOString();
        try {
          await usage.record({ ...context, at, role, provider, model: model.model, local, ...used, costUsd });
        } catch (cause) {
          parts.log.error("usage", "Usage not recorded", "usage.store_failed", {
            job_id: context.groupId,
            error: String(cause),
          });
        }
      };
      const metered = (role: ModelRole, model: Model): Model => ({
        provider: model.provider,
        model: model.model,
        local: model.local,
        family: model.family,
        check: (signal) => model.check(signal),
        async *generate(request: ModelRequest) {
          let chosen = model;
          if (!model.local) {
            await look();
            if (over()) {
              const other = instead();
              if (!("generate" in other)) {
                yield { type: "failed", failure: other };
                return;
              }
              chosen = other;
            }
          }
          for await (const event of chosen.generate(request)) {
            if (event.type === "finished") await record(role, chosen, event.answer.usage);
            yield event;
          }
        },
      });
      await look();
      return {
        models: {
          forRole(role) {
            const model = models.forRole(role);
            if (!("generate" in model)) return model;
            const chosen = !model.local && over() ? instead() : model;
            return "generate" in chosen ? metered(role, chosen) : chosen;
          },
        },
        notices: () => [...notices.values()],
        used: () => ({ ...sums }),
      };
    },
  };
}

/** Who answers in a cloud coder's place: Shiro's model, else Mio's. */
function localModel(models: Models): Model | undefined {
  for (const role of ["worker", "chat"] as const) {
    const model = models.forRole(role);
    if ("generate" in model && model.local) return model;
  }
  return undefined;
}
