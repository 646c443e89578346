import type { StaleRule } from "../../../application/ports/sandbox.ts";
import { type ListedContainer, nameOf, taskOf } from "./containers.ts";
import { LABEL } from "./labels.ts";
import type { Lease } from "./leases.ts";

export interface StaleFacts {
  readonly lease: (Lease & { readonly usedAtMs: number }) | undefined;
  readonly isAlive: (owner: string) => boolean;
  readonly nowMs: number;
}

/** Whether a task's container of this installation may go. Proxies are judged by who still needs them. */
export function isStale(
  container: ListedContainer,
  rule: Pick<StaleRule, "thresholdMs" | "liveTasks">,
  { lease, isAlive, nowMs }: StaleFacts,
): boolean {
  const labels = container.Labels;
  if (lease?.state === "ended") return true;
  if (rule.liveTasks?.has(taskOf(nameOf(container), labels))) return false;
  const ownerLives = isAlive(lease?.owner ?? labels[LABEL.owner] ?? "");
  // Nobody has claimed it: without its maker it is of no use.
  if (labels[LABEL.role] === "warm" && lease === undefined) return !ownerLives;
  const kind = lease?.lease ?? labels[LABEL.lease];
  if (kind === "detached" && lease?.state !== "preparing") {
    const usedAtMs = Math.max(lease?.usedAtMs ?? 0, container.Created * 1000);
    return nowMs - usedAtMs > rule.thresholdMs;
  }
  return !ownerLives;
}
