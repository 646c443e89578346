import type { RefusedDestination } from "../policy/network.ts";
import { formatBytes } from "./bytes.ts";

const REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "not a host",
  "not-allowed": "not in worker.network.allowed_domains",
  port: "allowed, but not on this port: add host:port to worker.network.allowed_domains",
  denied: "in worker.network.denied_domains",
  address: "its address is private: only an exact host:port in worker.network.allowed_domains opens it",
};

const LIMITED =
  "Commands are limited, not confined (Landlock): they write only to the workspace's copy, a private home and a private TMPDIR, and read only the system and tools. Still open: chmod and times of files outside, sockets with a path, UDP.";

const shown = (limit: string, value: number) =>
  limit === "open_files" || limit === "processes" ? String(value) : formatBytes(value);

export const confinementTexts = {
  /** Requests that the allow-list refused. */
  refusedHost: ({
    host,
    reason,
    count,
  }: {
    readonly host: string;
    readonly reason: RefusedDestination;
    readonly count: number;
  }) => `network: ${count} ${count === 1 ? "request" : "requests"} to ${host} refused (${REASONS[reason]})`,
  /** Landlock holds where nothing confines. */
  limited: `${LIMITED} To confine them: picoclaw doctor`,
  limitedPromise: LIMITED,
  /** A command failed and named paths of the home that jobs do not see. */
  homeHidden: (paths: readonly string[]) =>
    `home: ${paths.join(", ")} ${paths.length === 1 ? "is" : "are"} hidden from jobs; worker.home_allow shows what you name there`,
  /** A program could not reach the network, and this is why. */
  networkLimited: (network: "off" | "allow-list"): string =>
    network === "off"
      ? "network: it is off for this job (a preview without --allow-net, or worker.network.mode: off)"
      : "network: only the hosts of worker.network.allowed_domains are reachable, and only through the proxy in HTTP_PROXY; a program that ignores it reaches nothing",
  /** A command seems to have met a limit of `worker.limits`. */
  limitMet: (limit: "memory" | "file_size" | "open_files" | "processes", value: number) =>
    `${limit}: the command seems to have met worker.limits.${limit} (${shown(limit, value)})`,
  /** The job was ended: it took too much of the disk. */
  diskReached: (what: "changes" | "home", bytes: number, limitBytes: number) =>
    `${what === "changes" ? "The changes of the job" : "The private home of the job"} took ${formatBytes(bytes)} of disk, more than worker.limits.disk (${formatBytes(limitBytes)}), so the job was ended.${what === "home" ? " The private home was emptied." : ""}`,
  /** What `doctor` says of the limits; `holds`: there is a sandbox to hold them in. */
  limitsPromise: (limits: Readonly<Record<string, number>>, holds: boolean): string => {
    if (!holds)
      return "Commands have no limits of memory, disk or processes here (worker.limits needs a sandbox).";
    const set = Object.entries(limits).filter(([, value]) => value > 0);
    const named = set.map(([limit, value]) => `${limit} ${shown(limit, value)}`).join(", ");
    return `Limits of a job: ${named}. Memory, file_size and open_files are per process; where memory runs out, a job goes first.`;
  },
  /** Why nothing is confined on this system. */
  macos:
    "On macOS commands are not confined yet: they run in a copy with your own rights. Undo covers the workspace; worker.confine: on refuses them.",
  /** Nothing ran: the network cannot be limited here. */
  networkUnavailable: (mode: string) =>
    `worker.network.mode is ${mode}, but commands cannot be kept from the network here, so nothing was run. See picoclaw doctor; worker.network.mode: on runs them with the network.`,
  /** What `doctor` says of the network. */
  networkPromise: (mode: "on" | "off" | "allow_list", holds: boolean, domains: readonly string[]): string => {
    if (mode === "on") return "Commands reach the network as you do (worker.network.mode: on).";
    if (!holds)
      return `worker.network.mode is ${mode}, which cannot be enforced here: jobs with commands are refused.`;
    return mode === "off"
      ? "Commands reach no network at all (worker.network.mode: off)."
      : `Commands reach the network only through a proxy, and only: ${domains.length === 0 ? "nothing" : domains.join(", ")}`;
  },
};
