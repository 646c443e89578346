import { dlopen, FFIType } from "bun:ffi";
import { closeSync, readSync, writeSync } from "node:fs";

/** Where a Docker engine listens. */
export type EngineAddress =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls?: EngineTls };

export interface EngineTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface EngineCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE" | "HEAD";
  /** With its query. */
  readonly path: string;
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** One HTTP request over whatever the address is. Rejects with the runtime's error when the engine cannot be reached. */
export function callEngine(address: EngineAddress, call: EngineCall): Promise<Response> {
  const { method, path, body, contentType, headers, signal } = call;
  return fetch(`${urlOf(address)}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { "content-type": contentType ?? "application/json" }) },
    ...(body !== undefined && { body }),
    signal,
    // Its own limit is five minutes of silence; ours is the signal.
    timeout: false,
    ...(address.kind === "unix" && { unix: address.path }),
    ...(address.kind === "tcp" && address.tls && { tls: address.tls }),
  } as RequestInit);
}

function urlOf(address: EngineAddress): string {
  if (address.kind === "unix") return "http://docker";
  return `${address.tls ? "https" : "http"}://${address.host}:${address.port}`;
}

export interface RawConnection {
  /** Queued when the other side is slow. */
  write(bytes: Uint8Array): void;
  /** Sends the written data; nothing more will be sent. */
  endWrites(): void;
  /** Both directions, at once. */
  close(): void;
}

export interface RawHandlers {
  readonly onBytes: (bytes: Uint8Array) => void;
  /** Once; nothing comes after it. */
  readonly onClose: (error?: Error) => void;
}

/** A plain connection, for what HTTP is upgraded to. Rejects when it cannot be made. */
export async function openRaw(
  address: EngineAddress,
  { onBytes, onClose }: RawHandlers,
): Promise<RawConnection> {
  const queue: Uint8Array[] = [];
  const state = { closed: false, ending: false };
  const closed = (error?: Error) => {
    if (state.closed) return;
    state.closed = true;
    onClose(error);
  };
  const flush = (socket: { write(bytes: Uint8Array): number; shutdown(): void }) => {
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      const written = socket.write(next);
      if (written < next.length) {
        queue[0] = next.subarray(Math.max(0, written));
        return;
      }
      queue.shift();
    }
    if (state.ending) socket.shutdown();
  };
  const handlers = {
    data: (_: unknown, bytes: Uint8Array) => onBytes(bytes),
    drain: flush,
    close: () => closed(),
    end: () => closed(),
    error: (_: unknown, error: Error) => closed(error),
  };
  const socket =
    address.kind === "unix"
      ? await Bun.connect({ unix: address.path, socket: handlers })
      : await Bun.connect({
          hostname: address.host,
          port: address.port,
          socket: handlers,
          ...(address.tls && { tls: address.tls }),
        });
  return {
    write(bytes) {
      if (state.closed) return;
      queue.push(bytes);
      if (queue.length === 1) flush(socket);
    },
    endWrites() {
      state.ending = true;
      if (queue.length === 0) socket.shutdown();
    },
    close() {
      state.closed = true;
      socket.terminate();
    },
  };
}

/**
 * A connection whose reads and writes wait, for the few places that must have an answer before they go on. Every wait
 * has a limit; past it the connection is of no use any more.
 */
export interface BlockingSocket {
  readonly write: (bytes: Uint8Array) => void;
  /** At least one byte; throws when the other side is gone or says nothing for too long. */
  readonly read: (most: number) => Uint8Array;
  readonly close: () => void;
}

export type SocketAddress =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number };

const UNSUPPORTED =
  "files in an environment need an engine on a unix socket, or on a numeric IPv4 address without TLS";

const { i32, u32, ptr } = FFIType;
const SYMBOLS = {
  socket: { args: [i32, i32, i32], returns: i32 },
  connect: { args: [i32, ptr, u32], returns: i32 },
  setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 },
} as const;
const NAMES =
  process.platform === "darwin"
    ? ["libSystem.B.dylib"]
    : ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const OPTIONS =
  process.platform === "darwin"
    ? { level: 0xffff, receive: 0x1006, send: 0x1005 }
    : { level: 1, receive: 20, send: 21 };
const AF = { unix: 1, inet: 2 };
const STREAM = 1;

/** Throws with words for a person when it cannot be made. */
export function openBlockingSocket(address: SocketAddress, timeoutMs: number): BlockingSocket {
  const c = openLibrary();
  const family = address.kind === "unix" ? AF.unix : AF.inet;
  const fd = c.socket(family, STREAM, 0);
  if (fd < 0) throw new Error("no socket could be made");
  const wait = Buffer.alloc(16);
  wait.writeBigInt64LE(BigInt(Math.floor(timeoutMs / 1000)), 0);
  wait.writeBigInt64LE(BigInt(Math.floor(timeoutMs % 1000) * 1000), 8);
  for (const option of [OPTIONS.receive, OPTIONS.send])
    c.setsockopt(fd, OPTIONS.level, option, wait, wait.length);
  const place = addressBytes(address);
  if (c.connect(fd, place, place.length) !== 0) {
    closeSync(fd);
    throw new Error("the engine cannot be reached");
  }
  const state = { open: true };
  return {
    write(bytes) {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    },
    read(most) {
      const chunk = new Uint8Array(most);
      const got = readSync(fd, chunk, 0, most, null);
      if (got === 0) throw new Error("the connection was closed");
      return chunk.subarray(0, got);
    },
    close() {
      if (!state.open) return;
      state.open = false;
      closeSync(fd);
    },
  };
}

function openLibrary() {
  for (const name of NAMES) {
    try {
      return dlopen(name, SYMBOLS).symbols;
    } catch {
      // Not this C library's name here.
    }
  }
  throw new Error(UNSUPPORTED);
}

/** `sockaddr_un` or `sockaddr_in`; the BSD ones begin with their length. */
function addressBytes(address: SocketAddress): Uint8Array {
  const bsd = process.platform === "darwin";
  const begin = (bytes: Buffer, family: number) => {
    if (bsd) bytes.set([bytes.length, family], 0);
    else bytes.writeUInt16LE(family, 0);
    return bytes;
  };
  if (address.kind === "unix") {
    const path = Buffer.from(address.path);
    if (path.length > 103) throw new Error(`the path of the engine's socket is too long: ${address.path}`);
    const bytes = Buffer.alloc(2 + path.length + 1);
    path.copy(bytes, 2);
    return begin(bytes, AF.unix);
  }
  const host = address.host === "localhost" ? "127.0.0.1" : address.host;
  const parts = host.split(".").map(Number);
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255))
    throw new Error(UNSUPPORTED);
  const bytes = Buffer.alloc(16);
  bytes.writeUInt16BE(address.port, 2);
  bytes.set(parts, 4);
  return begin(bytes, AF.inet);
}

/** Whether a TCP connection to the host of a URL comes about. False when it is refused or given up. */
export async function canConnect(url: string, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (signal.aborted) return false;
  signal.addEventListener("abort", () => resolve(false), { once: true });
  void Bun.connect({
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    socket: {
      open: (socket) => {
        socket.end();
        resolve(true);
      },
      data: () => {},
      connectError: () => resolve(false),
    },
  }).catch(() => resolve(false));
  return promise;
}
