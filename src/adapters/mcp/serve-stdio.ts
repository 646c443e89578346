import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { createFrameReader } from "../../domain/platform/json-lines.ts";
import { toShownJson } from "../../domain/platform/json-text.ts";
import type { McpHost } from "./host.ts";
import { createMcpServer, createRunningCalls } from "./mcp-server.ts";
import { type BadMessage, MESSAGE_BYTES, readMessage, toErrorResponse, tooLong } from "./read-message.ts";

export interface StdioStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Unlike the SDK's own, it answers what it cannot read and continues, and it closes when either pipe does. */
function createStdioTransport(
  { input, output }: StdioStreams,
  limitBytes: number,
): Transport & { readonly closed: Promise<void> } {
  const frames = createFrameReader(limitBytes);
  const end = Promise.withResolvers<void>();
  let open = true;
  let cancelling = false;
  const behind: JSONRPCMessage[] = [];
  /** While the client does not read as fast as we write. */
  let drained: Promise<void> | null = null;

  const transport: Transport & { readonly closed: Promise<void> } = {
    closed: end.promise,
    async start() {
      input.on("data", take);
      input.on("end", close);
      input.on("close", close);
      input.on("error", close);
      output.on("error", close);
    },
    send: write,
    async close() {
      close();
    },
  };

  function take(chunk: Buffer | string): void {
    for (const frame of frames.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) {
      if (frame.kind === "too-long") refuse(tooLong(limitBytes, frame.id));
      else if (frame.bytes.some((byte) => byte > 0x20)) receive(frame.bytes);
    }
  }

  function receive(bytes: Uint8Array): void {
    const read = readMessage(bytes);
    if (read.ok) deliver(read.message);
    else refuse(read.bad);
  }

  /** The library carries a cancellation out a moment later: a request that takes up its id at once would be the one cancelled. */
  function deliver(message: JSONRPCMessage): void {
    if (cancelling) {
      behind.push(message);
      return;
    }
    transport.onmessage?.(message);
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    cancelling = true;
    setImmediate(() => {
      cancelling = false;
      for (const next of behind.splice(0)) if (open) deliver(next);
    });
  }

  function refuse(bad: BadMessage): void {
    transport.onerror?.(new Error(bad.message));
    void write(toErrorResponse(bad));
  }

  function write(message: JSONRPCMessage | ReturnType<typeof toErrorResponse>): Promise<void> {
    if (!open) return Promise.resolve();
    if (output.write(`${toShownJson(message)}\n`)) return Promise.resolve();
    drained ??= Promise.race([
      new Promise<void>((resolve) => output.once("drain", resolve)),
      end.promise,
    ]).then(() => {
      drained = null;
    });
    return drained;
  }

  function close(): void {
    if (!open) return;
    open = false;
    input.removeListener("data", take);
    input.pause();
    end.resolve();
    transport.onclose?.();
  }

  return transport;
}

/** Serves one client until it disconnects or `stop` aborts; its running work is then ended and undone. */
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
