import type { Socket } from "node:net";
import type { Destination } from "../../domain/policy/network.ts";
import { answerText } from "./proxy-answers.ts";
import {
  endOfHead,
  endToEndHeaders,
  type Framing,
  type Header,
  parseResponseHead,
  type RequestHead,
  readFraming,
  writeHead,
} from "./request-head.ts";

/** Where a request wants to go. */
export interface ForwardTarget extends Destination {
  /** What stands in the request line that is sent on. */
  readonly path: string;
  readonly authority: string;
}

/** Only the two forms a proxy is asked in; a path alone, or `https://` without a tunnel, is neither. */
export function readForwardTarget({ method, target }: RequestHead): ForwardTarget | undefined {
  if (method === "CONNECT") {
    const [, host = "", port] = /^(\[[^\]]+\]|[^:/@]+):(\d{1,5})$/.exec(target) ?? [];
    return port === undefined ? undefined : { host, port: Number(port), path: "", authority: target };
  }
  const [, authority = "", path = ""] = /^http:\/\/([^/?#]+)([^#]*)$/i.exec(target) ?? [];
  const [, host = "", port] = /^(\[[^\]]+\]|[^:@[\]]+)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  if (host === "" || /[^\x21-\x7e]/.test(path)) return undefined;
  return { host, port: Number(port ?? 80), path: path.startsWith("/") ? path : `/${path}`, authority };
}

export function writeForwardedRequest(
  { method, headers }: RequestHead,
  { path, authority }: ForwardTarget,
  framing: Framing,
): Buffer {
  const kept = endToEndHeaders(headers).filter(([name]) => name.toLowerCase() !== "host");
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
      return answerAndClose(client, 400, "the body of the request is broken");
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
    answerAndClose(client, 502, "the answer of the host is not HTTP");
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
      const isChunked = readFraming(head.headers)?.kind === "chunked";
      client.write(
        writeHead(head.line, [
          ...endToEndHeaders(head.headers),
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
export function answerAndClose(client: Socket, status: number, text: string, phrase?: string): void {
  if (client.destroyed || client.writableEnded) return;
  client.end(answerText(status, text, phrase));
  // What it still sends is read and dropped for a while: hanging up at once could take the answer with it.
  client.resume();
  client.setTimeout(LINGER_MS, () => client.destroy());
}

const LINGER_MS = 2000;

/**
 * Lets through exactly one body: `take` returns the part of these bytes that belongs to it, and says when it has
 * ended. What follows is another request, which nobody has judged.
 */
interface BodyCutter {
  take(bytes: Buffer): { readonly body: Buffer; readonly ended: boolean; readonly broken: boolean };
}

const LONGEST_LINE = 8192;

function createBodyCutter(framing: Framing): BodyCutter {
  return framing.kind === "chunked"
    ? createChunkedCutter()
    : createCountedCutter(framing.kind === "length" ? framing.bytes : 0);
}

function createCountedCutter(total: number): BodyCutter {
  let left = total;
  return {
    take(bytes) {
      const body = bytes.subarray(0, left);
      left -= body.length;
      return { body, ended: left === 0, broken: false };
    },
  };
}

/** Follows the chunks without changing them; a trailer section ends with its empty line. */
function createChunkedCutter(): BodyCutter {
  let state: "size" | "data" | "data-end" | "trailer" | "ended" = "size";
  let left = 0;
  let line = "";
  return {
    take(bytes) {
      let at = 0;
      const broken = { body: bytes.subarray(0, 0), ended: false, broken: true };
      while (at < bytes.length && state !== "ended") {
        if (state === "data") {
          const step = Math.min(left, bytes.length - at);
          at += step;
          left -= step;
          if (left === 0) state = "data-end";
          continue;
        }
        const end = bytes.indexOf(0x0a, at);
        line += bytes.toString("latin1", at, end === -1 ? bytes.length : end + 1);
        at = end === -1 ? bytes.length : end + 1;
        if (line.length > LONGEST_LINE) return broken;
        if (end === -1) continue;
        if (!/^[^\r\n\0]*\r\n$/.test(line)) return broken;
        const text = line.slice(0, -2);
        line = "";
        if (state === "size") {
          const [, size] = /^([0-9a-fA-F]{1,12})(?:[ \t]*;.*)?$/.exec(text) ?? [];
          if (size === undefined) return broken;
          left = Number.parseInt(size, 16);
          state = left === 0 ? "trailer" : "data";
        } else if (state === "data-end") {
          if (text !== "") return broken;
          state = "size";
        } else if (text === "") state = "ended";
      }
      return { body: bytes.subarray(0, at), ended: state === "ended", broken: false };
    },
  };
}
