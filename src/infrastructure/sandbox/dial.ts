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

/** A proxy of the user's own, behind which the machine reaches the internet. */
export interface UpstreamProxy extends Destination {
  /** For `Proxy-Authorization`; null: none is asked for. */
  readonly authorization: string | null;
  /** Hosts that are reached without it, as `NO_PROXY` has them. */
  readonly except: readonly string[];
}

/** The user's proxy by the usual variables; null where there is none, or one that speaks no HTTP. */
export function upstreamProxy(env: Readonly<Record<string, string | undefined>>): UpstreamProxy | null {
  const given = env.HTTPS_PROXY || env.https_proxy || env.HTTP_PROXY || env.http_proxy;
  const url = given ? URL.parse(given.includes("://") ? given : `http://${given}`) : null;
  if (url === null || url.protocol !== "http:" || url.hostname === "") return null;
  const words = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || 80),
    authorization: words === ":" ? null : `Basic ${Buffer.from(words).toString("base64")}`,
    except: (env.NO_PROXY || env.no_proxy || "").split(",").map((one) => one.trim().toLowerCase()),
  };
}

function isReachedDirectly(host: string, { except }: UpstreamProxy): boolean {
  return except.some((entry) => {
    const name = entry.replace(/^\*?\./, "");
    return entry === "*" || (name !== "" && (host === name || host.endsWith(`.${name}`)));
  });
}

export interface DialDeps extends AddressDeps {
  /** The connection goes through it: the name was judged here, and it looks the name up. */
  readonly upstream?: UpstreamProxy | null;
  /** Default: a TCP connection. */
  readonly connect?: (address: string, port: number) => Socket;
}

export type AllowedAddresses =
  | { readonly ok: true; readonly addresses: readonly string[]; readonly host: string }
  | { readonly ok: false; readonly refused: RefusedDestination }
  | { readonly ok: false; readonly failed: "no-such-host" | "timeout" };

export type DialResult =
  /** `through`: the socket is one to the user's proxy, which is asked for the plain request. */
  | { readonly ok: true; readonly socket: Socket; readonly host: string; readonly through?: UpstreamProxy }
  | { readonly ok: false; readonly refused: RefusedDestination }
  | { readonly ok: false; readonly failed: "no-such-host" | "unreachable" | "timeout" };

/** Judges the name, looks it up, judges each address, and dials the one it judged: no second look-up could answer otherwise. */
export async function dial(
  deps: DialDeps,
  destination: Destination & { readonly isTunnel?: boolean },
): Promise<DialResult> {
  if (deps.upstream) {
    const verdict = deps.policy.judgeHost(destination);
    if (!verdict.ok) return { ok: false, refused: verdict.reason };
    if (!isReachedDirectly(verdict.host, deps.upstream)) {
      // A literal address needs no look-up, so that it is judged here as any other.
      const isLiteral = parseAddress(verdict.host) !== undefined;
      if (isLiteral && !mayDial(verdict.host, verdict.opens)) return { ok: false, refused: "address" };
      return dialThrough(deps, deps.upstream, { ...destination, host: verdict.host });
    }
  }
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

/** A tunnel through the user's proxy, or a connection to it for a plain request: many proxies refuse tunnels to port 80. */
async function dialThrough(
  deps: DialDeps,
  upstream: UpstreamProxy,
  destination: Destination & { readonly isTunnel?: boolean },
): Promise<DialResult> {
  const { host: proxy, port, authorization } = upstream;
  const socket = (deps.connect ?? connectTo)(proxy, port);
  const outcome = await withTimeout(deps.timeoutMs, waitUntilConnected(socket));
  const shown = destination.host.includes(":") ? `[${destination.host}]` : destination.host;
  const target = `${shown}:${destination.port}`;
  if (outcome === true && destination.isTunnel === false)
    return { ok: true, socket, host: destination.host, through: upstream };
  if (outcome === true) {
    const credentials = authorization === null ? "" : `Proxy-Authorization: ${authorization}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${credentials}\r\n`);
    const status = await withTimeout(deps.timeoutMs, readTunnelStatus(socket));
    if (status === 200) return { ok: true, socket, host: destination.host };
  }
  socket.destroy();
  return { ok: false, failed: outcome === undefined ? "timeout" : "unreachable" };
}

const MOST_HEAD_BYTES = 16 * 1024;

/** The status of a proxy's answer to CONNECT; null where it is not one. Bytes behind the head stay in the socket. */
function readTunnelStatus(socket: Socket): Promise<number | null> {
  return new Promise((resolve) => {
    let held: Buffer = Buffer.alloc(0);
    const end = (status: number | null) => {
      socket.off("data", onData);
      socket.off("end", onEnd);
      socket.pause();
      resolve(status);
    };
    const onEnd = () => end(null);
    const onData = (bytes: Buffer) => {
      held = Buffer.concat([held, bytes]);
      const at = held.indexOf("\r\n\r\n");
      if (at === -1) return held.length > MOST_HEAD_BYTES ? end(null) : undefined;
      const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(held.subarray(0, at).toString("latin1")) ?? [];
      end(status === undefined ? null : Number(status));
      if (held.length > at + 4) socket.unshift(held.subarray(at + 4));
    };
    socket.on("data", onData);
    socket.once("end", onEnd);
    socket.once("close", onEnd);
  });
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
