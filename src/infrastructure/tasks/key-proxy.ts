import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import type { KeyQuota } from "./key-quota.ts";
import { sweepKeys } from "./sweep-keys.ts";

export interface KeyProxyDeps {
  /** Where everything goes, whatever the caller says. */
  readonly upstream: string;
  /** What a caller has in a key's place, and the key. */
  readonly keys: ReadonlyMap<string, string>;
  /** Of the task; whoever runs in its container could use the keys up. */
  readonly quota: KeyQuota;
  /** Told when nothing is left of it. */
  readonly onUsedUp: () => void;
}

export interface KeyProxy {
  /** A Unix socket that only this user may use. */
  readonly socket: string;
  close(): Promise<void>;
}

const FOLDER = "picoclaw-keys-";

/** Of one hop, or made anew. */
const LEFT_OUT = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Passes requests on to one server and puts the keys where their stand-ins are, in headers and in the address. Whoever
 * has no stand-in is refused, and so is everybody once the quota is used up.
 */
export async function startKeyProxy({ upstream, keys, quota, onUsedUp }: KeyProxyDeps): Promise<KeyProxy> {
  await sweepKeys(tmpdir(), FOLDER);
  const folder = mkdtempSync(join(tmpdir(), FOLDER));
  const socket = join(folder, "s");
  const target = new URL(onThisMachine(upstream));
  const swap = (text: string) => [...keys].reduce((all, [stand, key]) => all.replaceAll(stand, key), text);
  const hide = (text: string) => [...keys].reduce((all, [stand, key]) => all.replaceAll(key, stand), text);

  const take: KeyQuota["take"] = (what, amount) => {
    const is = quota.take(what, amount);
    if (!is) onUsedUp();
    return is;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = [request.url ?? "/", ...Object.values(request.headers).flat()].join("\n");
    const path = request.url ?? "";
    // Put behind the server's own address as it stands: resolved, `//other.host/` would be another server.
    if (!path.startsWith("/") || ![...keys.keys()].some((stand) => asked.includes(stand)))
      return void response.writeHead(403, PLAIN_TEXT).end("no key of this task\n");
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
      if (got.body === null) response.end();
      else
        Readable.fromWeb(got.body as never)
          .on("error", () => response.destroy())
          .pipe(quotaTransform((bytes) => take("bytes", bytes)))
          .on("error", () => response.destroy())
          .pipe(response);
    } catch (error) {
      if (gone.signal.aborted) return;
      const why = hide(error instanceof Error ? error.message : String(error));
      response.writeHead(502, PLAIN_TEXT).end(`${target.host}: ${why}\n`);
    }
  }

  const server = createServer((request, response) => void answer(request, response));
  // A CLI that would rather have a web socket goes on without.
  server.on("upgrade", (_, connection) =>
    connection.end("HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\n\r\n"),
  );
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(socket, done);
  });
  return {
    socket,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const PLAIN_TEXT = { "content-type": "text/plain" };

/** A container's name for the machine it runs on is here the machine itself. */
function onThisMachine(upstream: string): string {
  return upstream.replace(/^(https?:\/\/)host\.docker\.internal(?=[:/]|$)/, "$1127.0.0.1");
}

function* headersOf({ rawHeaders }: IncomingMessage): Generator<[string, string]> {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""];
    if (!LEFT_OUT.has(name.toLowerCase())) yield [name, value];
  }
}

/** Null when more comes than may. */
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
