import type { Socket } from "node:net";
import type { Destination } from "../../domain/policy/network.ts";
import { createBodyCutter } from "./body-cutter.ts";
import { answerText } from "./proxy-answers.ts";
import {
  endOfHead,
  endToEnd,
  type Framing,
  framingOf,
  type Header,
  parseResponseHead,
  type RequestHead,
  writeHead,
} from "./request-head.ts";

/** Where a request wants to go. */
export interface Asked extends Destination {
  /** What stands in the request line that is sent on. */
  readonly path: string;
  readonly authority: string;
}

/** Only the two forms a proxy is asked in; a path alone, or `https://` without a tunnel, is neither. */
export function destinationOf({ method, target }: RequestHead): Asked | undefined {
  if (method === "CONNECT") {
    const [, host = "", port] = /^(\[[^\]]+\]|[^:/@]+):(\d{1,5})$/.exec(target) ?? [];
    return port === undefined ? undefined : { host, port: Number(port), path: "", authority: target };
  }
  const [, authority = "", path = ""] = /^http:\/\/([^/?#]+)([^#]*)$/i.exec(target) ?? [];
  const [, host = "", port] = /^(\[[^\]]+\]|[^:@[\]]+)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  if (host === "" || /[^\x21-\x7e]/.test(path)) return undefined;
  return { host, port: Number(port ?? 80), path: path.startsWith("/") ? path : `/${path}`, authority };
}

export function requestFor(
  { method, headers }: RequestHead,
  { path, authority }: Asked,
  framing: Framing,
): Buffer {
  const kept = endToEnd(headers).filter(([name]) => name.toLowerCase() !== "host");
  const coding: Header[] = framing.kind === "chunked" ? [["Transfer-Encoding", "chunked"]] : [];
  return writeHead(`${method} ${path} HTTP/1.1`, [
    ["Host", authority],
    ...kept,
    ...coding,
    ["Connection", "close"],
  ]);
}

/** Sends on one body and not a byte more. */
export function sendBody(client: Socket, upstream: Socket, framing: Framing, first: Buffer): void {
  const cutter = createBodyCutter(framing);
  let over = false;
  const onData = (bytes: Buffer) => {
    if (over) return;
    const { body, ended, broken } = cutter.take(bytes);
    if (broken) {
      upstream.destroy();
      return answer(client, 400, "the body of the request is broken");
    }
    over = ended;
    if (body.length > 0 && !upstream.write(body)) {
      client.pause();
      upstream.once("drain", () => client.resume());
    }
  };
  onData(first);
  client.on("data", onData);
  client.once("end", () => {
    if (!over) upstream.destroy();
  });
  client.resume();
}

/** The answer as it comes, with a head that says that the connection ends with it. */
export function relayAnswer(client: Socket, upstream: Socket, headBytes: number): void {
  let held: Buffer = Buffer.alloc(0);
  let begun = false;
  const fail = () => {
    upstream.destroy();
    answer(client, 502, "the answer of the host is not HTTP");
  };
  const onData = (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    for (;;) {
      const end = endOfHead(held);
      if (end === -1) return held.length > headBytes ? fail() : undefined;
      const head = parseResponseHead(held.subarray(0, end));
      if (head === undefined || head.status === 101) return fail();
      const rest = held.subarray(end);
      const isInterim = head.status < 200;
      const isChunked = framingOf(head.headers)?.kind === "chunked";
      client.write(
        writeHead(head.line, [
          ...endToEnd(head.headers),
          ...(isChunked ? [["Transfer-Encoding", "chunked"] as const] : []),
          ...(isInterim ? [] : [["Connection", "close"] as const]),
        ]),
      );
      held = rest;
      if (isInterim) continue;
      begun = true;
      upstream.off("data", onData);
      if (rest.length > 0) client.write(rest);
      upstream.pipe(client);
      return;
    }
  };
  upstream.on("data", onData);
  upstream.once("end", () => {
    if (!begun) fail();
  });
}

/** Says one thing and hangs up. */
export function answer(client: Socket, status: number, text: string): void {
  if (client.destroyed || client.writableEnded) return;
  client.end(answerText(status, text));
  // What it still sends is read and dropped for a while: hanging up at once could take the answer with it.
  client.resume();
  client.setTimeout(LINGER_MS, () => client.destroy());
}

const LINGER_MS = 2000;
