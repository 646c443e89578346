import { createNetworkPolicy, mayDial } from "../policy/network.ts";

const MOST = 5;
/** Names that are looked up for one output. */
const MOST_NAMED = 10;

/** The addresses of a name, as the machine knows them; none where it knows none, or not soon. */
export type AddressesOf = (host: string) => Promise<readonly string[]>;

/** For whoever reads a command's output: programs and models, so in English alone. */
export function refusedText(hosts: readonly string[]): string {
  return `picoclaw: this environment may not reach ${hosts.join(", ")} (command_executor.docker.network); the refusal is not the server's`;
}

/** How programs tell that something stood between them and a host; npm calls our proxy's refusal its registry's 403. */
const TROUBLE =
  /\b403\b|forbidden|tunnel|proxy|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|could not resolve|name resolution|not reach/i;
const HOSTS =
  /\bhttps?:\/\/(?:[^\s/@'"]+@)?([a-z0-9.-]+\.[a-z0-9-]+|\[[0-9a-f:]+\])(?::(\d+))?|\bhost='([^']+)', port=(\d+)/gi;

/**
 * The hosts, as `host:port`, that a failed command names and that the network's rules do not let it reach: what looks
 * like the server's refusal is ours.
 */
export async function refusedHosts(
  output: string,
  allowed: readonly string[],
  addressesOf: AddressesOf,
): Promise<readonly string[]> {
  if (!TROUBLE.test(output)) return [];
  const { judgeHost } = createNetworkPolicy({ allowed, denied: [] });
  const named = [...hostsIn(output)].slice(0, MOST_NAMED);
  const judged = await Promise.all(
    named.map(async ([name, { host, port }]) => {
      const verdict = judgeHost({ host, port });
      if (!verdict.ok) return [name];
      // A name that is allowed may still lead to an address that is not.
      const addresses = await addressesOf(host);
      return addresses.length > 0 && !addresses.some((one) => mayDial(one, verdict.opens)) ? [name] : [];
    }),
  );
  return judged.flat().slice(0, MOST);
}

function hostsIn(output: string): ReadonlyMap<string, { readonly host: string; readonly port: number }> {
  const found = new Map<string, { host: string; port: number }>();
  for (const [text, urlHost, urlPort, pipHost, pipPort] of output.matchAll(HOSTS)) {
    const host = urlHost ?? pipHost ?? "";
    const port = Number(urlPort ?? pipPort ?? (/^https:/i.test(text) ? 443 : 80));
    // The environment's own loopback is nobody's to refuse.
    if (!/^(?:127\.|0\.0\.0\.0$|\[::1?\]$)/.test(host))
      found.set(`${host.toLowerCase()}:${port}`, { host, port });
  }
  return found;
}
