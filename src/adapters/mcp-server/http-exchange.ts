import type { IncomingMessage, ServerResponse } from "node:http";

/** The body, or null when it is longer than the limit; reading then stops. */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array | null> {
  if (Number(request.headers["content-length"] ?? 0) > limitBytes) return null;
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > limitBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The head of a request, as web standards have it; its body was read already. */
export function toWebRequest({ method = "GET", url = "/", headers }: IncomingMessage): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
  return new Request(new URL(url, "http://127.0.0.1").href, { method, headers: new Headers(pairs) });
}

/** Sends a response as it comes, at the pace of the client; ends when the client goes. */
export async function sendWebResponse(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const reader = answer.body.getReader();
  const gone = new Promise<void>((resolve) => response.once("close", resolve));
  void gone.then(() => reader.cancel()).catch(() => {});
  for (;;) {
    const { done, value } = await reader.read();
    if (done || response.destroyed) break;
    if (!response.write(value))
      await Promise.race([new Promise<void>((resolve) => response.once("drain", resolve)), gone]);
  }
  response.end();
}

/** A refusal in the protocol's own form; the connection is not used again when its body was not read. */
export function sendError(
  response: ServerResponse,
  status: number,
  error: { readonly code: number; readonly message: string },
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close", ...headers });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
}
