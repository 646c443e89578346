import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { WebRead, WebReader } from "../../application/ports/sandbox.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { createNetworkPolicy, type Destination } from "../../domain/policy/network.ts";
import { type AddressDeps, findAllowedAddresses } from "./dial.ts";

export interface WebDeps extends AddressDeps {
  readonly limitBytes: number;
  readonly userAgent: string;
  /** Whether a port of this machine's loopback is a background process of the workspace: it may be read under any policy. */
  readonly isOwnPort?: (port: number) => Promise<boolean>;
}

const LOOPBACK_HOSTS: Readonly<Record<string, readonly string[]>> = {
  localhost: ["127.0.0.1", "::1"],
  "127.0.0.1": ["127.0.0.1"],
  "::1": ["::1"],
};

const MOST_REDIRECTS = 5;
const TEXTUAL = /^(?:text\/|application\/(?:json|xml|xhtml\+xml|javascript|[\w.+-]+\+(?:json|xml))$)/;

/** Reads pages over HTTP and HTTPS. Each address that is dialled was judged; a redirect is judged like a new page. */
export function createWeb(deps: WebDeps): WebReader {
  return {
    async read(url, signal) {
      let at = url;
      const within = AbortSignal.any([signal, AbortSignal.timeout(deps.timeoutMs)]);
      for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
        const step = await readOnce(deps, at, within);
        if (!("location" in step))
          return !step.ok && step.why === "aborted" && !signal.aborted ? timeoutRead(url) : step;
        at = step.location;
      }
      return { ok: false, why: "too-many-redirects", detail: at };
    },
  };
}

const OWN_PAGE_MS = 20_000;
const OWN_PAGE_BYTES = 1024 ** 2;

/** Reads pages of a workspace's background processes only. */
export function createOwnPages(deps: Required<Pick<WebDeps, "isOwnPort" | "userAgent">>): WebReader {
  return createWeb({
    ...deps,
    policy: createNetworkPolicy({ allowed: [], denied: ["*:*"] }),
    timeoutMs: OWN_PAGE_MS,
    limitBytes: OWN_PAGE_BYTES,
  });
}

function timeoutRead(url: string): WebRead {
  return { ok: false, why: "timeout", detail: url };
}

async function readOnce(
  deps: WebDeps,
  given: string,
  signal: AbortSignal,
): Promise<WebRead | { readonly location: string }> {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    return { ok: false, why: "bad-url", detail: given };
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const destination: Destination = { host, port: Number(url.port || (url.protocol === "https:" ? 443 : 80)) };
  const judged = await findAddresses(deps, destination);
  if (!judged.ok) {
    if ("refused" in judged) return { ok: false, why: "refused", detail: url.host };
    return { ok: false, why: judged.failed, detail: url.host };
  }
  try {
    const answer = await requestPage(url, judged.addresses, deps.userAgent, signal);
    const { statusCode: status = 0, headers } = answer;
    if (status >= 300 && status < 400 && headers.location !== undefined) {
      answer.destroy();
      const next = URL.parse(headers.location, url.href);
      return next === null
        ? { ok: false, why: "bad-url", detail: headers.location }
        : { location: next.href };
    }
    const type = (headers["content-type"] ?? "text/plain").split(";")[0]?.trim().toLowerCase() ?? "";
    if (!TEXTUAL.test(type)) {
      answer.destroy();
      return { ok: false, why: "not-text", detail: type };
    }
    const { bytes, cut } = await readBody(answer, deps.limitBytes);
    const plain = unpackBody(bytes, headers["content-encoding"] ?? "", deps.limitBytes);
    const text = decoderFor(headers["content-type"] ?? "", plain).decode(plain);
    return { ok: true, url: url.href, status, type, text, cut };
  } catch (error) {
    if (signal.aborted) return { ok: false, why: "aborted", detail: url.host };
    return { ok: false, why: "unreachable", detail: `${url.host}: ${(error as Error).message}` };
  }
}

async function findAddresses(deps: WebDeps, destination: Destination) {
  const { host, port } = destination;
  const loopback = Object.hasOwn(LOOPBACK_HOSTS, host) ? LOOPBACK_HOSTS[host] : undefined;
  if (loopback !== undefined && (await deps.isOwnPort?.(port)) === true)
    return { ok: true as const, addresses: loopback };
  return findAllowedAddresses(deps, destination);
}

function requestPage(
  url: URL,
  addresses: readonly string[],
  userAgent: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const sent = (url.protocol === "https:" ? httpsRequest : httpRequest)(
    url,
    {
      signal,
      agent: false,
      headers: {
        "user-agent": userAgent,
        accept: "text/markdown, text/html, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1",
        "accept-encoding": "gzip, deflate, br",
      },
      // No second look-up that could answer otherwise.
      lookup: (_, options, done) => {
        const [first] = found;
        if (first === undefined) done(new Error("no address"), "");
        else if (options.all === true) done(null, found);
        else done(null, first.address, first.family);
      },
    },
    resolve,
  );
  sent.on("error", reject);
  sent.end();
  return promise;
}

function readBody(answer: IncomingMessage, limit: number): Promise<{ bytes: Buffer; cut: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ bytes: Buffer; cut: boolean }>();
  const chunks: Buffer[] = [];
  let size = 0;
  answer.on("data", (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size <= limit) return;
    resolve({ bytes: Buffer.concat(chunks).subarray(0, limit), cut: true });
    answer.destroy();
  });
  answer.on("end", () => resolve({ bytes: Buffer.concat(chunks), cut: false }));
  answer.on("error", reject);
  answer.on("close", () => reject(new Error("the connection was cut")));
  return promise;
}

/** Never more than a few times the limit: a small page may unpack to gigabytes. */
function unpackBody(bytes: Buffer, encoding: string, limit: number): Buffer {
  const options = { maxOutputLength: limit * 4 };
  switch (encoding.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return gunzipSync(bytes, options);
    case "deflate":
      return inflateSync(bytes, options);
    case "br":
      return brotliDecompressSync(bytes, options);
    default:
      return bytes;
  }
}

/** As the header says, else the page itself; Japanese pages are not always UTF-8. */
function decoderFor(header: string, bytes: Buffer): TextDecoder {
  const named =
    /charset\s*=\s*["']?([\w-]+)/i.exec(header)?.[1] ??
    /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(bytes.subarray(0, 2048).toString("latin1"))?.[1];
  return attemptOr(null, () => new TextDecoder((named ?? "utf-8") as "utf-8")) ?? new TextDecoder();
}
