import type { Claim } from "../ports/message-store.ts";

/** Renewed four times in that time; a process that could not is taken for dead by the others. */
export const LEASE_MS = 60_000;

export function leaseUntil(owner: string, now: Date): Claim {
  return {
    owner,
    now: now.toISOString(),
    leaseUntil: new Date(now.getTime() + LEASE_MS).toISOString(),
  };
}
