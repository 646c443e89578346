import type { RefusedHost } from "../../application/ports/jobs-transaction.ts";
import type { Destination, RefusedDestination } from "../../domain/policy/network.ts";

/** A request that the proxy did not carry out. */
export interface Refusal extends Destination {
  readonly reason: RefusedDestination;
}

/** Counts refusals by host, for the result of a job. Names are a stranger's: their number and length are bounded. */
export function createRefusalCount(): {
  readonly add: (refusal: Refusal) => void;
  /** Most frequent first; forgets what it returns. */
  readonly take: () => readonly RefusedHost[];
} {
  const counts = new Map<string, RefusedHost>();
  return {
    add({ host, reason }) {
      const name = printable(host);
      const known = counts.has(`${reason} ${name}`) || counts.size < MOST_HOSTS ? name : OTHERS;
      const key = `${reason} ${known}`;
      counts.set(key, { host: known, reason, count: (counts.get(key)?.count ?? 0) + 1 });
    },
    take() {
      const taken = [...counts.values()];
      counts.clear();
      return taken.sort((x, y) => y.count - x.count || (x.host < y.host ? -1 : 1));
    },
  };
}

const MOST_HOSTS = 50;
const MOST_CHARACTERS = 100;
const OTHERS = "…";

function printable(host: string): string {
  const plain = host.replace(/[^\x21-\x7e]/g, "?");
  return plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS)}…` : plain;
}
