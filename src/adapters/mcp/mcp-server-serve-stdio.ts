import { createMcpServer } from "./mcp-server.ts";
import type { McpHost } from "./host.ts";
import { MESSAGE_BYTES } from "./mcp-server-read-message.ts";
import { createRunningCalls } from "./running-calls.ts";
import { createStdioTransport, type StdioStreams } from "./serve-stdio.ts";

/** Serves one client until it goes or `stop` says so; what it had running is then ended and taken back. */
export async function serveStdio(host: McpHost, streams: StdioStreams, stop: AbortSignal): Promise<void> {
  const calls = createRunningCalls();
  const server = createMcpServer(host, calls);
  const transport = createStdioTransport(streams, MESSAGE_BYTES);
  await server.connect(transport);
  stop.addEventListener("abort", () => void transport.close(), { once: true });
  if (stop.aborted) await transport.close();
  await transport.closed;
  await calls.settled();
}
