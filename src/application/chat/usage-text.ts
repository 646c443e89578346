import type { DayClock } from "../../domain/chat/session.ts";
import type { UsageLine } from "../../domain/chat/usage-line.ts";
import type { MemoryMessages } from "../../domain/texts/texts.ts";
import type { UsageFilter, UsageStore, UsageTotal } from "../ports/usage.ts";

export interface UsageDeps {
  readonly usage: UsageStore;
  /** The day's budget in US dollars. */
  readonly daily: number | null;
  readonly clock: DayClock;
}

/** Whose use is told: everybody's, one chat's, or all chats that a person has at the console. */
export type UsageScope =
  | { readonly of: "all" }
  | { readonly of: "chat"; readonly chatKey: string }
  /** `chatKey` is the person's first chat; the others are called `<chatKey>.<something>`. */
  | { readonly of: "person"; readonly chatKey: string };

const DAYS = 7;

/** `/usage`: today by model, the last days, and the budget. Anybody but the owner sees their own share only. */
export async function usageText(
  { usage, daily, clock }: UsageDeps,
  now: Date,
  scope: UsageScope,
): Promise<(words: MemoryMessages) => string> {
  const today = clock.startOfDay(now);
  const all = scope.of === "all";
  const only = toUsageOwner(scope);
  const byModel = await usage.totals({ by: "model", since: today, ...only });
  const days = await lastDays(usage, clock, now, only);
  const spent = daily !== null && all ? await usage.spent(today) : 0;
  return (words) => {
    const { usageHeader, usageLine } = words;
    const lines: string[] = [];
    if (byModel.length === 0) lines.push(words.noUsage);
    else lines.push(`${usageHeader[scope.of === "all" ? "today" : scope.of]}:`, ...byModel.map(usageLine));
    if (days.length > 1) lines.push("", `${usageHeader.days}:`, ...days.map(usageLine));
    if (daily !== null && all) lines.push("", words.budgetLine(spent, daily));
    return lines.join("\n");
  };
}

function toUsageOwner(scope: UsageScope): UsageOwner {
  if (scope.of === "all") return {};
  return { chatKey: scope.chatKey, withChatsBelow: scope.of === "person" };
}

type UsageOwner = Pick<UsageFilter, "chatKey" | "withChatsBelow">;

/** One line a day that has any, newest first, each named by the date its session would bear. */
async function lastDays(
  usage: UsageDeps["usage"],
  clock: DayClock,
  now: Date,
  only: UsageOwner,
): Promise<UsageLine[]> {
  const lines: UsageLine[] = [];
  let until: Date | undefined;
  let start = clock.startOfDay(now);
  for (let day = 0; day < DAYS; day++) {
    const totals = await usage.totals({ by: "chat", since: start, ...(until && { until }), ...only });
    if (totals.length > 0) lines.push(sum(clock.dayOf(start), totals));
    until = start;
    start = clock.startOfDay(new Date(start.getTime() - 1));
  }
  return lines;
}

function sum(name: string, totals: readonly UsageTotal[]): UsageLine {
  return totals.reduce(
    (line, total) => ({
      name,
      calls: line.calls + total.calls,
      inputTokens: line.inputTokens + total.inputTokens,
      outputTokens: line.outputTokens + total.outputTokens,
      costUsd: line.costUsd + total.costUsd,
    }),
    { name, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 },
  );
}
