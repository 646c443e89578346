/** The head of an HTTP/1 message as it goes through a proxy: read strictly, written anew. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
}

export interface ResponseHead {
  readonly status: number;
  readonly line: string;
  readonly headers: readonly Header[];
}

export type Header = readonly [name: string, value: string];

/** How a body is delimited; anything that two readers could understand differently is refused. */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HOP_BY_HOP = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authorization",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Never dropped because `Connection` names them: what they say is checked and kept. */
const FRAMING = new Set(["host", "content-length", "transfer-encoding"]);

/** Where the head ends in these bytes (behind its empty line); -1 while it does not. */
export function endOfHead(bytes: Buffer): number {
  const at = bytes.indexOf("\r\n\r\n");
  return at === -1 ? -1 : at + 4;
}

export function parseRequestHead(bytes: Uint8Array): RequestHead | undefined {
  const lines = splitHeadLines(bytes);
  const [, method, target] = /^([^ ]+) ([^ ]+) HTTP\/1\.[01]$/.exec(lines?.[0] ?? "") ?? [];
  const headers = lines && parseHeaders(lines.slice(1));
  if (method === undefined || target === undefined || !TOKEN.test(method) || headers === undefined)
    return undefined;
  return { method, target, headers };
}

export function parseResponseHead(bytes: Uint8Array): ResponseHead | undefined {
  const lines = splitHeadLines(bytes);
  const line = lines?.[0] ?? "";
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: .*)?$/.exec(line) ?? [];
  const headers = lines && parseHeaders(lines.slice(1));
  return status === undefined || headers === undefined
    ? undefined
    : { status: Number(status), line, headers };
}

/** Undefined for a bare CR or LF, a NUL, or a line that continues another. */
function splitHeadLines(bytes: Uint8Array): string[] | undefined {
  const text = Buffer.from(bytes).toString("latin1").slice(0, -4);
  const lines = text.split("\r\n");
  return lines.every((line) => !/[\r\n\0]/.test(line)) ? lines : undefined;
}

function parseHeaders(lines: readonly string[]): Header[] | undefined {
  const headers: Header[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    if (colon < 1 || !TOKEN.test(name)) return undefined;
    headers.push([name, line.slice(colon + 1).trim()]);
  }
  return headers;
}

function headerValues(headers: readonly Header[], name: string): string[] {
  return headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
}

export function readFraming(headers: readonly Header[]): Framing | undefined {
  const encodings = headerValues(headers, "transfer-encoding");
  const lengths = headerValues(headers, "content-length");
  if (encodings.length > 0) {
    const isPlain = encodings.length === 1 && encodings[0]?.toLowerCase() === "chunked";
    return isPlain && lengths.length === 0 ? { kind: "chunked" } : undefined;
  }
  const [length] = lengths;
  if (length === undefined) return { kind: "none" };
  if (lengths.some((one) => one !== length) || !/^\d{1,15}$/.test(length)) return undefined;
  return { kind: "length", bytes: Number(length) };
}

/** Without what concerns one connection only; the framing is added again by whoever has checked it. */
export function endToEndHeaders(headers: readonly Header[]): Header[] {
  const named = headerValues(headers, "connection").flatMap((value) =>
    value.split(",").map((one) => one.trim().toLowerCase()),
  );
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && (FRAMING.has(lower) || !named.includes(lower));
  });
}

export function writeHead(line: string, headers: readonly Header[]): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${line}\r\n${lines.join("")}\r\n`, "latin1");
}
