import { readdirSync, readlinkSync } from "node:fs";
import { connect, createServer } from "node:net";
import { JOB_VARIABLE } from "../../application/ports/platform-processes.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readText } from "../platform/control-groups.ts";
import { isOfJob } from "../platform/process-runner.ts";
import type { ProcessEntry } from "../platform/process-table.ts";
import { listenAt } from "./forward-port.ts";

const LISTENS = "0A";
/** Addresses that the loopback of this machine leads to: its own, and any. */
const LOOPBACK = /^(?:0100007F|00000000|0{32}|0{24}01000000|0000000000000000FFFF0000(?:0100007F|00000000))$/i;

/** Sockets of a table of the kernel (`/proc/net/tcp`) that listen and can be reached from this machine: port by inode. */
export function parseListeners(table: string): ReadonlyMap<string, number> {
  const ports = new Map<string, number>();
  for (const line of table.split("\n").slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [address = "", port = ""] = (fields[1] ?? "").split(":");
    if (fields[3] === LISTENS && LOOPBACK.test(address) && fields[9] !== undefined)
      ports.set(fields[9], Number.parseInt(port, 16));
  }
  return ports;
}

/** Everything below a keeper that bears the mark of its process: neither the sandbox itself nor what serves in it. */
export function markedBelow(
  table: readonly ProcessEntry[],
  keeper: number,
  id: string,
): readonly ProcessEntry[] {
  return descendantsOf(table, keeper).filter(
    (entry) => isOfJob(entry.tag() ?? 0n, id) || entry.hasVariable(JOB_VARIABLE, id),
  );
}

function descendantsOf(table: readonly ProcessEntry[], pid: number): readonly ProcessEntry[] {
  const childrenOf = Map.groupBy(table, (entry) => entry.parentPid);
  const found: ProcessEntry[] = [];
  const queue = [...(childrenOf.get(pid) ?? [])];
  for (let entry = queue.pop(); entry !== undefined; entry = queue.pop()) {
    found.push(entry);
    queue.push(...(childrenOf.get(entry.pid) ?? []));
  }
  return found;
}

/** The ports of a loopback (default: this program's own) on which these processes listen, by the sockets that they hold. */
export function findListeningPorts(
  processes: readonly Pick<ProcessEntry, "pid">[],
  network: number | "self" = "self",
): readonly number[] {
  const ports = new Set<number>();
  const listeners = readListeners(network);
  if (listeners.size === 0) return [];
  for (const { pid } of processes) {
    for (const descriptor of attemptOr([], () => readdirSync(`/proc/${pid}/fd`))) {
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${descriptor}`) ?? "")?.[1];
      const port = inode === undefined ? undefined : listeners.get(inode);
      if (port !== undefined) ports.add(port);
    }
  }
  return [...ports].sort((a, b) => a - b);
}

/** The same of a network that these processes have for themselves. */
export function findInsidePorts(processes: readonly Pick<ProcessEntry, "pid">[]): readonly number[] {
  const own = readLink("/proc/self/ns/net");
  const inside = processes.find(({ pid }) => {
    const network = readLink(`/proc/${pid}/ns/net`);
    return network !== null && network !== own;
  });
  return inside === undefined ? [] : findListeningPorts(processes, inside.pid);
}

function readListeners(network: number | "self"): ReadonlyMap<string, number> {
  return new Map(
    ["tcp", "tcp6"].flatMap((name) => [...parseListeners(readText(`/proc/${network}/net/${name}`))]),
  );
}

const CONNECT_MS = 500;

/** Whether a program answers on a port of the loopback. */
export async function isPortTaken(port: number): Promise<boolean> {
  const answers = await Promise.all(["127.0.0.1", "::1"].map((host) => answersAt(host, port)));
  return answers.includes(true);
}

export async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await listenAt(server, 0);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answersAt(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.setTimeout(CONNECT_MS, () => settle(false));
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

function readLink(path: string): string | null {
  return attemptOr(null, () => readlinkSync(path));
}
