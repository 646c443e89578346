import type { Refused } from "../../policy/network.ts";
import type { ConfinementMessages } from "./messages.ts";

const REASONS: Readonly<Record<Refused, string>> = {
  "bad-host": "not a host",
  "not-allowed": "not in worker.network.allowed_domains",
  port: "allowed, but not on this port: add host:port to worker.network.allowed_domains",
  denied: "in worker.network.denied_domains",
  address: "its address is private: only an exact host:port in worker.network.allowed_domains opens it",
};

export const en: ConfinementMessages = {
  refusedHost: ({ host, reason, count }) =>
    `network: ${count} ${count === 1 ? "request" : "requests"} to ${host} refused (${REASONS[reason]})`,
  networkLimited: (network) =>
    network === "off"
      ? "network: it is off for this job (a preview without --allow-net, or worker.network.mode: off)"
      : "network: only the hosts of worker.network.allowed_domains are reachable, and only through the proxy in HTTP_PROXY; a program that ignores it reaches nothing",
  networkUnavailable: (mode) =>
    `worker.network.mode is ${mode}, but commands cannot be kept from the network here, so nothing was run. See picoclaw doctor; worker.network.mode: on runs them with the network.`,
  networkPromise: (mode, holds, domains) => {
    if (mode === "on") return "Commands reach the network as you do (worker.network.mode: on).";
    if (!holds)
      return `worker.network.mode is ${mode}, which cannot be enforced here: jobs with commands are refused.`;
    return mode === "off"
      ? "Commands reach no network at all (worker.network.mode: off)."
      : `Commands reach the network only through a proxy, and only: ${domains.length === 0 ? "nothing" : domains.join(", ")}`;
  },
};
