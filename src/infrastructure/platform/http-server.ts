export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly limitBytes: number;
  /** `from`: the address at the other end of the connection. */
  readonly fetch: (request: Request, from: string) => Promise<Response>;
}

/** Seconds in which a connection must send or take something. */
const IDLE_SECONDS = 20;
const LAST_ANSWERS_MS = 1_000;
const LOOK_MS = 10;

/** Throws with a `code` when the address cannot be had. */
export function listenHttp({ host, port, limitBytes, fetch }: HttpOptions) {
  const server = Bun.serve({
    hostname: host,
    port,
    maxRequestBodySize: limitBytes,
    idleTimeout: IDLE_SECONDS,
    development: false,
    // By default the runtime would share the port with any other process that asks for it.
    reusePort: false,
    async fetch(request, self) {
      const response = await fetch(request, self.requestIP(request)?.address ?? "");
      // A stream of events is quiet for as long as nothing happens; it sends a beat of its own.
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) self.timeout(request, 0);
      return response;
    },
  });
  return {
    port: server.port ?? port,
    /** Takes no new connections, lets what is being answered finish for a moment, and ends every connection. */
    async close(): Promise<void> {
      void server.stop(false);
      for (let waited = 0; waited < LAST_ANSWERS_MS && server.pendingRequests > 0; waited += LOOK_MS)
        await Bun.sleep(LOOK_MS);
      await server.stop(true);
    },
  };
}
