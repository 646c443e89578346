/**
 * A model that answers what a test says, over the real protocols: Ollama, OpenAI (chat and responses), Anthropic,
 * Gemini. One address for all of them.
 *
 *     const server = await startModelServer({ script: [{ text: "hello" }, { fault: { kind: "cut", after: 1 } }] });
 *     server.config(); // what picoclaw's configuration needs to use it for every role
 *     server.requests; // what was asked, in order
 *     await server.stop();
 */
import { createServer, type ServerResponse } from "node:http";
import { errorOf, problemFrame } from "./errors.ts";
import { encode, type Protocol, protocolOf } from "./protocols.ts";
import type { Fault, ScriptedReply } from "./reply.ts";

export interface SeenRequest {
  readonly protocol: Protocol;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  readonly body: any;
}

export interface ModelServer {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Resolves when that many requests have come. */
  asked(count: number): Promise<void>;
  /** Resolves when that many connections were given up by the client before their answer ended. */
  abandoned(count: number): Promise<void>;
  /** Replaces what is still to be answered. */
  say(...replies: ScriptedReply[]): void;
  /** Where `base_url` of each protocol points. */
  baseUrl(protocol: Protocol): string;
  /** Every role on this server, local-only satisfied; the keys are any text. */
  config(): object;
  stop(): Promise<void>;
}

export interface ModelServerOptions {
  /** Answers in order, the last one again and again; or a function of each request. */
  readonly script?: readonly ScriptedReply[] | ((request: SeenRequest, count: number) => ScriptedReply);
  /** The list of `/api/tags`; default: any model that is asked about. */
  readonly pulled?: readonly { readonly name: string; readonly remote_host?: string }[];
  /** The list of `/models`; default: nothing. */
  readonly offered?: readonly string[];
  /** The answer of `/api/show` for every model; default: it knows no such page. */
  readonly vision?: boolean;
}

const DEFAULT_PULLED = ["stub:latest", "chat-v1:latest", "worker-v1:latest"].map((name) => ({ name }));

export async function startModelServer({
  script = [],
  pulled = DEFAULT_PULLED,
  offered = [],
  vision,
}: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: SeenRequest[] = [];
  let replies = typeof script === "function" ? [] : [...script];
  let gone = 0;
  const waiting: { readonly isDue: () => boolean; readonly resolve: () => void }[] = [];
  const tell = () => {
    for (const one of waiting) if (one.isDue()) one.resolve();
  };
  const until = (isDue: () => boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ isDue, resolve });
    tell();
    return promise;
  };
  const next = (request: SeenRequest): ScriptedReply => {
    if (typeof script === "function" && replies.length === 0) return script(request, requests.length);
    return (replies.length > 1 ? replies.shift() : replies[0]) ?? { text: "done" };
  };

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const path = new URL(incoming.url ?? "/", "http://stub").pathname;
      const protocol = incoming.method === "POST" ? protocolOf(path) : undefined;
      if (path === "/api/show" && vision !== undefined) {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ capabilities: ["completion", ...(vision ? ["vision"] : [])] }));
        return;
      }
      if (protocol === undefined) return list(path, { pulled, offered }, response);
      const bytes = Buffer.concat(chunks);
      const request = {
        protocol,
        path,
        headers: incoming.headers,
        bytes: bytes.length,
        body: JSON.parse(bytes.toString("utf8")),
      };
      requests.push(request);
      response.on("close", () => {
        if (!response.writableEnded) gone += 1;
        tell();
      });
      const reply = next(request);
      tell();
      void answer(request, reply, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const baseUrl = (protocol: Protocol) =>
    url +
    { ollama: "", anthropic: "", "openai-chat": "/v1", "openai-responses": "/v1", gemini: "/v1beta" }[
      protocol
    ];
  return {
    url,
    requests,
    asked: (count) => until(() => requests.length >= count),
    abandoned: (count) => until(() => gone >= count),
    say: (...more) => {
      replies = more;
    },
    baseUrl,
    config: () => ({
      ollama: { base_url: url },
      providers: {
        claude: { base_url: baseUrl("anthropic"), api_key: null },
        openai: { base_url: baseUrl("openai-responses"), api_key: null },
        deepseek: { base_url: baseUrl("openai-chat"), api_key: null },
      },
    }),
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Lists of models, and one model: all there, or those that are offered. */
function list(
  path: string,
  { pulled, offered }: Required<Pick<ModelServerOptions, "pulled" | "offered">>,
  response: ServerResponse,
): void {
  const body =
    path === "/api/tags"
      ? { models: pulled }
      : path.endsWith("/models")
        ? { object: "list", data: offered.map((id) => ({ id })) }
        : { id: path };
  const [, one] = /\/models\/([^/]+)$/.exec(path) ?? [];
  const isServed = one === undefined || offered.length === 0 || offered.includes(decodeURIComponent(one));
  const known = path === "/api/tags" || (isServed && /\/models(\/[^/]+)?$/.test(path));
  response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
  response.end(JSON.stringify(known ? body : { error: isServed ? "no such page" : `model: ${one}` }));
}

async function answer(request: SeenRequest, reply: ScriptedReply, response: ServerResponse): Promise<void> {
  const { protocol, body, headers, path } = request;
  const model = typeof body.model === "string" ? body.model : (/models\/([^:]+):/.exec(path)?.[1] ?? "");
  const { fault } = reply;
  const end = (status: number, text: string, more: Record<string, string> = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...more });
    response.end(text);
  };
  switch (fault?.kind) {
    case "status":
      return end(
        fault.status,
        fault.body ?? JSON.stringify({ error: { message: "stub says no" } }),
        fault.headers,
      );
    case "context-length":
    case "unknown-model":
    case "unauthorized":
    case "no-credit":
    case "no-temperature": {
      const key = String(headers.authorization ?? headers["x-api-key"] ?? headers["x-goog-api-key"] ?? "");
      const error = errorOf(protocol, fault.kind, { model, key });
      return end(error.status, JSON.stringify(error.body));
    }
    case "hang-before-headers":
      return;
    case "html":
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<html><body>Sign in to the hotel's network</body></html>");
      return;
    case "whole":
      return end(200, JSON.stringify(wholeChat(reply)));
    default:
      return stream(protocol, reply, fault, model, response);
  }
}

async function stream(
  protocol: Protocol,
  reply: ScriptedReply,
  fault: Fault | undefined,
  model: string,
  response: ServerResponse,
): Promise<void> {
  const { type, frames } = encode(protocol, reply, model);
  response.writeHead(200, { "content-type": type });
  const write = (data: string | Uint8Array) =>
    new Promise<void>((resolve) => response.write(data, () => resolve()));
  const limit = fault !== undefined && "after" in fault ? fault.after : frames.length;
  const given = frames.slice(0, limit);
  if (fault?.kind === "one-chunk") await write(given.join(""));
  else if (fault?.kind === "drip")
    for (const byte of Buffer.from(given.join(""))) await write(Uint8Array.of(byte));
  else for (const frame of given) await write(frame);
  switch (fault?.kind) {
    case "problem-in-stream":
      await write(problemFrame(protocol));
      return void response.end();
    case "malformed-frame":
      await write(protocol === "ollama" ? "{oops}\n" : "data: {oops}\n\n");
      return void response.end(frames.slice(limit).join(""));
    case "cut":
      await fault.when;
      await write((frames[limit] ?? "").slice(0, 12));
      return void response.socket?.destroy();
    case "hang":
      return;
    default:
      return void response.end();
  }
}

/** Chat completions of a server that does not stream. */
function wholeChat({ text = null, toolCalls = [] }: ScriptedReply | { text: null; toolCalls: [] }): object {
  const tool_calls = toolCalls.map(({ id, name, arguments: args }, index) => ({
    id: id ?? `call_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  return {
    choices: [
      {
        message: { role: "assistant", content: text, ...(tool_calls.length > 0 && { tool_calls }) },
        finish_reason: tool_calls.length > 0 ? "tool_calls" : "stop",
      },
    ],
    usage: { prompt_tokens: 12, completion_tokens: 7 },
  };
}
