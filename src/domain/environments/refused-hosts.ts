import { createNetworkPolicy } from "../policy/network.ts";

const MOST = 5;

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
export function refusedHosts(output: string, allowed: readonly string[]): readonly string[] {
  if (!TROUBLE.test(output)) return [];
  const { judgeHost } = createNetworkPolicy({ allowed, denied: [] });
  const found = new Set<string>();
  for (const [text, urlHost, urlPort, pipHost, pipPort] of output.matchAll(HOSTS)) {
    const host = urlHost ?? pipHost ?? "";
    const port = Number(urlPort ?? pipPort ?? (/^https:/i.test(text) ? 443 : 80));
    // The environment's own loopback is nobody's to refuse.
    if (!/^(?:127\.|0\.0\.0\.0$|\[::1?\]$)/.test(host) && !judgeHost({ host, port }).ok)
      found.add(`${host.toLowerCase()}:${port}`);
  }
  return [...found].slice(0, MOST);
}
