/**
 * A relay between one contestant at one exercise and the model's server: passes every request on as it is and counts requests,
 * tokens and seconds. Any path and any protocol passes; the counts are read from what the known protocols report.
 * Invariant: no byte of a request or an answer is changed.
 */
export interface Asked {
  readonly seconds: number;
  readonly status: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  /** The server named no usage, because the answer was broken off: its parts were counted. */
  readonly isEstimated: boolean;
  /** As the server names it; null where the answer was broken off. */
  readonly stop: string | null;
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  readonly messages: number;
  /** Characters of the request. */
  readonly size: number;
  readonly text: string;
}

/** An endless answer is recorded as far as it says what it is. */
const LONGEST_TEXT = 20_000;

export interface Relay {
  /** In place of the server's base URL. */
  readonly url: string;
  readonly asked: readonly Asked[];
  stop(): void;
}

export function startRelay(upstream: string): Relay {
  const asked: Asked[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = request.method === "POST" ? await request.text() : null;
      const started = performance.now();
      const headers = new Headers(request.headers);
      headers.delete("host");
      headers.delete("accept-encoding");
      const answer = await fetch(`${new URL(upstream).origin}${pathname}${search}`, {
        method: request.method,
        headers,
        ...(body !== null && { body }),
        signal: request.signal,
        timeout: false,
      } as RequestInit);
      const passed = new Headers(answer.headers);
      for (const name of ["content-encoding", "content-length", "transfer-encoding"]) passed.delete(name);
      if (body === null || answer.body === null)
        return new Response(answer.body, { status: answer.status, headers: passed });
      const decoder = new TextDecoder();
      let seen = "";
      let isCounted = false;
      const count = () => {
        if (isCounted) return;
        isCounted = true;
        const seconds = (performance.now() - started) / 1000;
        asked.push({ seconds, status: answer.status, ...readRequest(body), ...readAnswer(seen) });
      };
      const reader = answer.body.getReader();
      const stream = new ReadableStream<Uint8Array>({
        async pull(controller) {
          try {
            const { done, value } = await reader.read();
            if (value !== undefined) {
              seen += decoder.decode(value, { stream: true });
              controller.enqueue(value);
            }
            if (!done) return;
            count();
            controller.close();
          } catch (error) {
            count();
            controller.error(error);
          }
        },
        async cancel() {
          count();
          await reader.cancel().catch(() => {});
        },
      });
      return new Response(stream, { status: answer.status, headers: passed });
    },
    error: () => new Response("the model's server cannot be reached", { status: 502 }),
  });
  const base = new URL(upstream);
  return {
    url: `http://127.0.0.1:${server.port}${base.pathname.replace(/\/$/, "")}`,
    asked,
    stop: () => void server.stop(true),
  };
}

function readRequest(body: string) {
  const { temperature, max_tokens, max_completion_tokens, messages } = (parse(body) ?? {}) as Record<
    string,
    unknown
  >;
  const most = max_tokens ?? max_completion_tokens;
  return {
    temperature: typeof temperature === "number" ? temperature : null,
    maxTokens: typeof most === "number" ? most : null,
    messages: Array.isArray(messages) ? messages.length : 0,
    size: body.length,
  };
}

function readAnswer(seen: string) {
  const last = (pattern: RegExp) => [...seen.matchAll(pattern)].at(-1)?.[1];
  const prompt = last(/"(?:prompt_tokens|input_tokens|prompt_eval_count|promptTokenCount)":\s*(\d+)/g);
  const answer = last(/"(?:completion_tokens|output_tokens|eval_count|candidatesTokenCount)":\s*(\d+)/g);
  const lines = seen.split("\n").map((line) => line.replace(/^data: /, ""));
  const parts = lines.flatMap((line) => (line.startsWith("{") ? [parse(line)] : []));
  return {
    promptTokens: Number(prompt ?? 0),
    answerTokens: answer === undefined ? parts.length : Number(answer),
    isEstimated: answer === undefined,
    stop: last(/"(?:finish_reason|stop_reason|done_reason|finishReason)":\s*"(\w+)"/g) ?? null,
    text: parts.map(textOfPart).join("").slice(0, LONGEST_TEXT),
  };
}

interface Part {
  readonly choices?: readonly {
    readonly delta?: { content?: unknown };
    readonly message?: { content?: unknown };
  }[];
  readonly delta?: { readonly text?: unknown };
  readonly message?: { readonly content?: unknown };
}

function textOfPart(part: unknown): string {
  const { choices, delta, message } = (part ?? {}) as Part;
  const [choice] = choices ?? [];
  const text = choice?.delta?.content ?? choice?.message?.content ?? delta?.text ?? message?.content;
  return typeof text === "string" ? text : "";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
