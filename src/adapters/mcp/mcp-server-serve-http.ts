import type { McpHost } from "./host.ts";
import { createMcpEndpoint, refusalResponse } from "./serve-http.ts";
import { refuseRequest } from "./http-guard.ts";

export interface HttpOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly token: string;
  readonly onListening: (url: string) => void;
  /** Listens on 127.0.0.1; throws with a `code` when the port cannot be had. */
  readonly listen: (options: {
    readonly port: number;
    readonly fetch: (request: Request) => Promise<Response>;
  }) => { readonly port: number; close(): Promise<void> };
}

/** Serves clients of this machine until `stop` says so. Rejects when the port cannot be had. */
export async function serveHttp(
  host: McpHost,
  { listen, token, onListening, ...options }: HttpOptions,
  stop: AbortSignal,
): Promise<void> {
  const endpoint = createMcpEndpoint(host);
  const server = listen({
    port: options.port,
    async fetch(request) {
      const refused = refuseRequest(request, server.port, token);
      if (refused === null) return endpoint.handle(request);
      const headers = refused.status === 401 ? { "www-authenticate": "Bearer" } : {};
      return refusalResponse(refused.status, { code: -32000, message: refused.message }, headers);
    },
  });
  onListening(`http://127.0.0.1:${server.port}/mcp`);
  if (!stop.aborted)
    await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
  await endpoint.close();
  await server.close();
}
