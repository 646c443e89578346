import type { RefusedHost, Transaction } from "../../application/ports/jobs-transaction.ts";
import type { SandboxNetwork } from "./sandbox-plan.ts";

export type LimitedNetwork = Pick<Transaction, "network" | "takeRefused">;

/** What a transaction tells of its network. */
export function limitedNetwork(
  network: SandboxNetwork,
  takeRefused: (() => readonly RefusedHost[]) | undefined,
): LimitedNetwork {
  if (network === "host") return {};
  if (network === "none") return { network: "off" };
  return { network: "allow-list", ...(takeRefused && { takeRefused }) };
}
