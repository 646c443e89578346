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
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array> | undefined;
  readonly contentType?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
}

/** One HTTP request over any kind of address. Rejects with the runtime's error when the engine cannot be reached. */
export function callEngine(address: EngineAddress, call: EngineCall): Promise<Response> {
  const { method, path, body, contentType, headers, signal } = call;
  return fetch(`${urlOf(address)}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { "content-type": contentType ?? "application/json" }) },
    body,
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

export type RawConnection = Awaited<ReturnType<typeof openRaw>>;

export interface RawHandlers {
  readonly onBytes: (bytes: Uint8Array) => void;
  /** Called once, as the last call. */
  readonly onClose: (error?: Error) => void;
}

/** A plain connection, for what HTTP is upgraded to. Rejects when it cannot be made; a wrong certificate of the engine closes it. */
export async function openRaw(address: EngineAddress, { onBytes, onClose }: RawHandlers) {
  const queue: Uint8Array[] = [];
  const state = { closed: false };
  const closed = (error?: Error) => {
    if (state.closed) return;
    state.closed = true;
    onClose(error);
  };
  const flush = (socket: { write(bytes: Uint8Array): number }) => {
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      const written = socket.write(next);
      if (written < next.length) {
        queue[0] = next.subarray(Math.max(0, written));
        return;
      }
      queue.shift();
    }
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
    /** Queued when the other side is slow. */
    write(bytes: Uint8Array): void {
      if (state.closed) return;
      queue.push(bytes);
      if (queue.length === 1) flush(socket);
    },
    /** Both directions, at once. */
    close(): void {
      state.closed = true;
      socket.terminate();
    },
  };
}

/** Whether a TCP connection to the host of a URL succeeds. False if it is refused or times out. */
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

/** The same as far as it says anything: behind a proxy a direct connection does not. */
export function chooseConnect(env: Readonly<Record<string, string | undefined>>): typeof canConnect {
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
  return names.some((name) => env[name]) ? async () => true : canConnect;
}
