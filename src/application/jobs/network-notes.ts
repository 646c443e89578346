import type { NoteFact } from "../../domain/jobs/note.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { CommandOutcome } from "./outcome.ts";

/** Notes of a job about a network that it could not reach. `ran`: the command, where one has just ended. */
export function networkNotes(transaction: Transaction, ran?: CommandOutcome): NoteFact[] {
  const { network, takeRefused } = transaction;
  if (network === undefined) return [];
  const refused = takeRefused?.() ?? [];
  if (refused.length > 0) return refused.map((one) => ({ code: "host-refused", ...one }));
  return ran !== undefined && !ran.ok && NO_NETWORK.test(ran.output)
    ? [{ code: "network-limited", network }]
    : [];
}

/** How programs say that they reach nobody. */
const NO_NETWORK =
  /Could ?n[o']t resolve|name resolution|Name or service not known|EAI_AGAIN|ENOTFOUND|ENETUNREACH|Network is unreachable|No address associated/i;
