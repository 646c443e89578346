/**
 * A model for real worker CLIs, over their own protocols. The prompt says what it does, so that it holds no state:
 * `[[RUN ["cmd", …]]]` has the CLI run each command with its shell tool, then says "done"; `[[FAULT 401]]` refuses, `[[FAULT hang]]`
 * never answers.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { encode, type Protocol, protocolOf } from "../../fakes/model-server/protocols.ts";

export interface WorkerModel {
  /** As a container reaches it, through its proxy. */
  readonly host: string;
  /** The credentials that the CLIs sent. */
  readonly keys: ReadonlySet<string>;
  stop(): Promise<void>;
}

type Json = Readonly<Record<string, unknown>>;

export async function startWorkerModel(): Promise<WorkerModel> {
  const keys = new Set<string>();
  const server = createServer((request, response) => {
    const { authorization, "x-api-key": anthropic, "x-goog-api-key": google } = request.headers;
    for (const key of [authorization?.replace("Bearer ", ""), anthropic, google])
      if (key) keys.add(String(key));
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString("utf8");
      if (text.includes("[[FAULT hang]]")) return;
      const { status, type, body } = answerTo(new URL(request.url ?? "/", "http://x").pathname, text);
      response.writeHead(status, { "content-type": type }).end(body);
    });
  });
  await new Promise<void>((done) => server.listen(0, "0.0.0.0", done));
  const { port } = server.address() as AddressInfo;
  return {
    host: `host.docker.internal:${port}`,
    keys,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

function answerTo(pathname: string, text: string): Answer {
  const json = (body: object, status = 200): Answer => ({
    status,
    type: "application/json",
    body: JSON.stringify(body),
  });
  if (pathname.endsWith("/count_tokens")) return json({ input_tokens: 1 });
  if (pathname.endsWith(":countTokens")) return json({ totalTokens: 1 });
  if (pathname.endsWith("/models")) return json({ data: [], models: [] });
  if (text.includes("[[FAULT 401]]")) return json(REFUSED, 401);
  if (pathname.endsWith(":generateContent")) return json(GEMINI_TEXT);
  const protocol = protocolOf(pathname);
  return protocol === undefined ? json({}, 404) : answer(protocol, JSON.parse(text) as Json, text);
}

const REFUSED = {
  error: { type: "authentication_error", code: 401, status: "UNAUTHENTICATED", message: "invalid x-api-key" },
};
const GEMINI_TEXT = {
  candidates: [{ content: { role: "model", parts: [{ text: "{}" }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};

function answer(protocol: Protocol, body: Json, text: string): Answer {
  const commands = commandsIn(text);
  const tool = shellTool(protocol, body);
  const done = text.split(RESULT[protocol] ?? "\0").length - 1;
  const command = tool === null ? undefined : commands[done];
  const model = typeof body.model === "string" ? body.model : "model";
  const reply =
    command === undefined || tool === null
      ? { text: "done" }
      : {
          toolCalls: [
            {
              id: `call_${done}_${Date.now()}`,
              name: tool.name,
              arguments: { ...tool.rest, [tool.key]: command },
            },
          ],
        };
  const { type, frames } = encode(protocol, reply, model);
  return { status: 200, type, body: frames.join("") };
}

/** A text that a request holds once for each result of a tool. */
const RESULT: Partial<Record<Protocol, string>> = {
  "openai-responses": '"type":"function_call_output"',
  anthropic: '"type":"tool_result"',
  gemini: '"functionResponse":',
};

function commandsIn(text: string): readonly string[] {
  const found = text.lastIndexOf("[[RUN ");
  if (found < 0) return [];
  const marker = text.slice(found + 6, text.indexOf("]]]", found) + 1);
  // The marker is in a JSON text.
  return JSON.parse(JSON.parse(`"${marker}"`) as string) as string[];
}

const SHELLS: Readonly<Record<string, { readonly key: string; readonly rest: Json }>> = {
  Bash: { key: "command", rest: { description: "run" } },
  run_shell_command: { key: "command", rest: { description: "run" } },
  shell_command: { key: "command", rest: {} },
  exec_command: { key: "cmd", rest: {} },
};

function shellTool(
  protocol: Protocol,
  body: Json,
): { readonly name: string; readonly key: string; readonly rest: Json } | null {
  const tools = Array.isArray(body.tools) ? (body.tools as Json[]) : [];
  const names =
    protocol === "gemini" ? tools.flatMap((tool) => (tool.functionDeclarations ?? []) as Json[]) : tools;
  for (const { name } of names) {
    const shell = SHELLS[String(name)];
    if (shell) return { name: String(name), ...shell };
  }
  return null;
}
