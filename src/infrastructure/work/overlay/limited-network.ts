import type { RefusedHost, Transaction } from "../../../application/ports/transaction.ts";
import type { SandboxNetwork } from "./sandbox.ts";

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
