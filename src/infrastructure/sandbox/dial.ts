import { lookup } from "node:dns/promises";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import {
  type createNetworkPolicy,
  type Destination,
  mayDial,
  parseAddress,
  type RefusedDestination,
} from "../../domain/policy/network.ts";

export interface AddressDeps {
  readonly policy: ReturnType<typeof createNetworkPolicy>;
  /** All addresses of a name. Rejects or is empty when there are none. Default: the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Addresses of this machine, which always count as private. Default: those of its interfaces. */
  readonly ownAddresses?: () => readonly string[];
  readonly timeoutMs: number;
}

export interface DialDeps extends AddressDeps {
  /** Default: a TCP connection. */
  readonly connect?: (address: string, port: number) => Socket;
}

export type AllowedAddresses =
  | { readonly ok: true; readonly addresses: readonly string[]; readonly host: string }
  | { readonly ok: false; readonly refused: RefusedDestination }
  | { readonly ok: false; readonly failed: "no-such-host" | "timeout" };

export type DialResult =
  | { readonly ok: true; readonly socket: Socket; readonly host: string }
  | { readonly ok: false; readonly refused: RefusedDestination }
  | { readonly ok: false; readonly failed: "no-such-host" | "unreachable" | "timeout" };

/** Judges the name, looks it up, judges each address, and dials the one it judged: no second look-up could answer otherwise. */
export async function dial(deps: DialDeps, destination: Destination): Promise<DialResult> {
  const judged = await findAllowedAddresses(deps, destination);
  if (!judged.ok) return judged;
  let failed: "unreachable" | "timeout" = "unreachable";
  for (const address of judged.addresses) {
    const socket = (deps.connect ?? connectTo)(address, destination.port);
    const outcome = await withTimeout(deps.timeoutMs, waitUntilConnected(socket));
    if (outcome === true) return { ok: true, socket, host: judged.host };
    socket.destroy();
    failed = outcome === undefined ? "timeout" : "unreachable";
  }
  return { ok: false, failed };
}

/** The addresses of a destination that may be dialled, a few at most. */
export async function findAllowedAddresses(
  deps: AddressDeps,
  destination: Destination,
): Promise<AllowedAddresses> {
  const verdict = deps.policy.judgeHost(destination);
  if (!verdict.ok) return { ok: false, refused: verdict.reason };
  const { host, opens } = verdict;
  const addresses = await withTimeout(deps.timeoutMs, resolveAddresses(deps, host));
  if (addresses === undefined) return { ok: false, failed: "timeout" };
  if (addresses.length === 0) return { ok: false, failed: "no-such-host" };
  const own = opens === "public" ? (deps.ownAddresses ?? interfaceAddresses)() : [];
  const open = addresses.filter((address) => mayDial(address, opens) && !own.includes(address));
  if (open.length === 0) return { ok: false, refused: "address" };
  return { ok: true, addresses: open.slice(0, MOST_ATTEMPTS), host };
}

const MOST_ATTEMPTS = 4;

async function resolveAddresses(
  { resolve = systemResolve }: AddressDeps,
  host: string,
): Promise<readonly string[]> {
  if (parseAddress(host) !== undefined) return [host];
  try {
    return await resolve(host);
  } catch {
    return [];
  }
}

async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
}

function connectTo(address: string, port: number): Socket {
  return connect({ host: address, port, allowHalfOpen: true });
}

function waitUntilConnected(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.on("error", () => resolve(false));
  });
}

/** Undefined when it takes longer. */
async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const PATIENCE_MS = 2000;

/** The addresses of a name by the system's resolver; empty where there are none, or none in time. */
export async function lookUp(host: string): Promise<readonly string[]> {
  const found = systemResolve(host.replace(/^\[|\]$/g, "")).catch(() => []);
  return (await withTimeout(PATIENCE_MS, found)) ?? [];
}
