import { lstatSync, mkdtempSync, readdirSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { removeTree } from "../platform/remove-tree.ts";

/** How much one task may ask of a model with the user's keys. */
export interface KeyLimits {
  readonly requests: number;
  /** Of requests and answers together. */
  readonly bytes: number;
}

/** The remaining limits, over all runs of a task. */
export type KeyQuota = ReturnType<typeof createKeyQuota>;

export function createKeyQuota(limits: KeyLimits) {
  const left = { ...limits };
  let reached: keyof KeyLimits | null = null;
  return {
    limits,
    /** Which limit was reached first; null while something is left. */
    usedUp: (): keyof KeyLimits | null => reached,
    /** False when nothing is left; nothing is to be passed on then. */
    take(what: keyof KeyLimits, amount: number): boolean {
      left[what] -= amount;
      if (left[what] < 0) reached ??= what;
      return reached === null;
    },
  };
}

/** A folder without a socket may be one that another process is just making. */
const MAKING_MS = 60_000;

/** Removes the folders of key proxies whose process was killed: no process answers at their sockets any more. */
export async function sweepKeys(below: string, prefix: string, now = Date.now()): Promise<void> {
  const names = readdirSync(below).filter((name) => name.startsWith(prefix));
  await Promise.all(
    names.map(async (name) => {
      const folder = join(below, name);
      const facts = lstatSync(folder, { throwIfNoEntry: false });
      if (facts === undefined || !facts.isDirectory() || facts.uid !== process.getuid?.()) return;
      const answer = await probeSocket(join(folder, "s"));
      if (answer === "refused" || (answer === "missing" && now - facts.mtimeMs > MAKING_MS))
        removeTree(folder);
    }),
  );
}

function probeSocket(socket: string): Promise<"open" | "refused" | "missing"> {
  return new Promise((done) => {
    const connection = connect(socket);
    connection.once("connect", () => {
      connection.destroy();
      done("open");
    });
    connection.once("error", ({ code }: NodeJS.ErrnoException) =>
      done(code === "ECONNREFUSED" ? "refused" : code === "ENOENT" ? "missing" : "open"),
    );
  });
}

export interface KeyProxyDeps {
  /** The only target, regardless of the caller's address. */
  readonly upstream: string;
  /** The caller's stand-in for a key, and the key. A login may change while it is used: then it is asked for each time. */
  readonly keys: ReadonlyMap<string, string> | (() => ReadonlyMap<string, string>);
  /** Whether this path of the server may be asked, behind the path of `upstream`. Absent: any. */
  readonly asks?: RegExp;
  /** Of the task; the project's code, which runs where the CLI does, could use the keys up. */
  readonly quota: KeyQuota;
  /** Called when nothing is left of it. */
  readonly onUsedUp: () => void;
  /** Called with the status of each answer of the server; 502 where it gives none. */
  readonly onAnswer?: ((status: number) => void) | undefined;
}

export type KeyProxy = Awaited<ReturnType<typeof startKeyProxy>>;

const FOLDER = "picoclaw-keys-";

/** Hop-by-hop headers, and those that are rewritten. */
const LEFT_OUT = new Set(
  `
  accept-encoding connection content-encoding content-length expect host keep-alive proxy-authorization
  proxy-connection te trailer transfer-encoding upgrade
`
    .trim()
    .split(/\s+/),
);

/** Passes requests on to one server with keys for stand-ins; refuses those without one, and all once the quota is used up. */
export async function startKeyProxy({
  upstream,
  keys: given,
  asks,
  quota,
  onUsedUp,
  onAnswer = () => {},
}: KeyProxyDeps) {
  await sweepKeys(tmpdir(), FOLDER);
  const folder = mkdtempSync(join(tmpdir(), FOLDER));
  /** A Unix socket that only this user may use. */
  const socket = join(folder, "s");
  // A container's name for the machine it runs on is here the machine itself.
  const target = new URL(upstream.replace(/^(https?:\/\/)host\.docker\.internal(?=[:/]|$)/, "$1127.0.0.1"));
  const base = target.pathname.replace(/\/$/, "");

  const take: KeyQuota["take"] = (what, amount) => {
    const is = quota.take(what, amount);
    if (!is) onUsedUp();
    return is;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = [request.url ?? "/", ...Object.values(request.headers).flat()].join("\n");
    const path = request.url ?? "";
    if (request.method === "HEAD" && (path === "/" || path === `${base}/` || path === base))
      return void response.writeHead(200).end();
    const keys = typeof given === "function" ? given() : given;
    const swap = (text: string) => [...keys].reduce((all, [stand, key]) => all.replaceAll(stand, key), text);
    const hide = (text: string) => [...keys].reduce((all, [stand, key]) => all.replaceAll(key, stand), text);
    if (typeof given === "function" && keys.size === 0)
      return void response.writeHead(401, PLAIN_TEXT).end("the login has expired\n");
    // Appended unchanged to the server's own address: resolved, `//other.host/` would be another server.
    if (!path.startsWith("/") || ![...keys.keys()].some((stand) => asked.includes(stand)))
      return void response.writeHead(403, PLAIN_TEXT).end("no key of this task\n");
    if (asks !== undefined && !(path.startsWith(base) && asks.test(path.slice(base.length))))
      return void response.writeHead(404, PLAIN_TEXT).end("not for this key\n");
    const body = take("requests", 1) ? await bodyOf(request, (bytes) => take("bytes", bytes)) : null;
    if (body === null)
      return void response.writeHead(403, PLAIN_TEXT).end("the quota of this task is used up\n");
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      const got = await fetch(`${target.origin}${swap(path)}`, {
        method: request.method ?? "GET",
        headers: [...headersOf(request)].map(([name, value]): [string, string] => [name, swap(value)]),
        ...(body.length > 0 && { body }),
        redirect: "manual",
        signal: gone.signal,
        // A model may think for minutes.
        timeout: false,
      } as RequestInit);
      for (const [name, value] of got.headers) if (!LEFT_OUT.has(name)) response.setHeader(name, hide(value));
      response.writeHead(got.status);
      onAnswer(got.status);
      if (got.body === null) response.end();
      else
        Readable.fromWeb(got.body as never)
          .on("error", () => response.destroy())
          .pipe(quotaTransform((bytes) => take("bytes", bytes)))
          .on("error", () => response.destroy())
          .pipe(response);
    } catch (error) {
      if (gone.signal.aborted) return;
      onAnswer(502);
      const why = hide(error instanceof Error ? error.message : String(error));
      response.writeHead(502, PLAIN_TEXT).end(`${target.host}: ${why}\n`);
    }
  }

  const server = createServer((request, response) => void answer(request, response));
  // A CLI that prefers a web socket falls back to HTTP.
  server.on("upgrade", (_, connection) =>
    connection.end("HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\n\r\n"),
  );
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(socket, done);
  });
  return {
    socket,
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      removeTree(folder);
    },
  };
}

const PLAIN_TEXT = { "content-type": "text/plain" };

function* headersOf({ rawHeaders }: IncomingMessage): Generator<[string, string]> {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""];
    if (!LEFT_OUT.has(name.toLowerCase())) yield [name, value];
  }
}

/** Null if the body is too long. */
async function bodyOf(
  request: IncomingMessage,
  take: (bytes: number) => boolean,
): Promise<Buffer<ArrayBuffer> | null> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) {
    if (!take(piece.length)) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Passes on what may pass, and breaks off then. */
function quotaTransform(take: (bytes: number) => boolean): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      if (take(piece.length)) done(null, piece);
      else done(new Error("the quota of this task is used up"));
    },
  });
}
