import type { Socket } from "node:net";
import { type DialParts, dial } from "./dial.ts";
import { answer, destinationOf, relayAnswer, requestFor, sendBody } from "./forward-request.ts";
import type { ProxyLimits } from "./proxy.ts";
import { refusalText } from "./proxy-answers.ts";
import type { Refusal } from "./refusals.ts";
import { endOfHead, framingOf, parseRequestHead } from "./request-head.ts";

export interface ServeClient {
  readonly client: Socket;
  readonly dialling: DialParts;
  readonly limits: ProxyLimits;
  /** There are too many already: says so and hangs up. */
  readonly isFull: boolean;
  readonly onRefused: (refusal: Refusal) => void;
}

/** One connection: head → judge and dial → a tunnel, or one request and its answer → end. */
export function serveClient(parts: ServeClient): void {
  const { client, limits } = parts;
  client.on("error", () => client.destroy());
  if (parts.isFull) {
    answer(client, 503, "too many connections");
    return;
  }
  let held: Buffer = Buffer.alloc(0);
  const onData = (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    const end = endOfHead(held);
    if (end === -1 && held.length <= limits.headBytes) return;
    clearTimeout(slow);
    client.off("data", onData);
    client.pause();
    if (end === -1 || end > limits.headBytes)
      return answer(client, 431, "the head of the request is too long");
    void carryOut(parts, held.subarray(0, end), held.subarray(end));
  };
  const slow = setTimeout(() => {
    client.off("data", onData);
    answer(client, 408, "no request came");
  }, limits.headMs);
  client.once("close", () => clearTimeout(slow));
  client.on("data", onData);
  client.once("end", () => {
    if (endOfHead(held) === -1) client.destroy();
  });
}

async function carryOut(parts: ServeClient, headBytes: Buffer, rest: Buffer): Promise<void> {
  const { client } = parts;
  const head = parseRequestHead(headBytes);
  const asked = head && destinationOf(head);
  const framing = head && framingOf(head.headers);
  if (head === undefined || asked === undefined || framing === undefined)
    return answer(client, 400, "not a request that a proxy can carry out");
  const dialled = await dial(parts.dialling, asked);
  if (!dialled.ok) {
    if ("failed" in dialled) return answer(client, dialled.failed === "timeout" ? 504 : 502, dialled.failed);
    parts.onRefused({ host: asked.host, port: asked.port, reason: dialled.refused });
    return answer(client, 403, refusalText(asked, dialled.refused));
  }
  const upstream = dialled.socket;
  tie(client, upstream, parts.limits.idleMs);
  if (client.destroyed) return void upstream.destroy();
  if (head.method === "CONNECT") {
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (rest.length > 0) upstream.write(rest);
    client.pipe(upstream);
    upstream.pipe(client);
    return;
  }
  upstream.write(requestFor(head, asked, framing));
  sendBody(client, upstream, framing, rest);
  relayAnswer(client, upstream, parts.limits.headBytes);
}

/** The end of one is the end of the other; so is a long silence. */
function tie(client: Socket, upstream: Socket, idleMs: number): void {
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on("error", () => other.destroy());
    one.once("close", () => other.destroySoon());
    one.setTimeout(idleMs, () => {
      client.destroy();
      upstream.destroy();
    });
  }
}
