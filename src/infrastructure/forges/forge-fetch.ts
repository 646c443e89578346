import { z } from "zod";
import type { Forge, ForgeAnswer, ForgeFailure } from "../../application/ports/forges.ts";
import { readUpTo } from "../../domain/platform/file-bytes.ts";

/** A failure on its way out of a call. */
export class ForgeFault extends Error {
  constructor(readonly failure: ForgeFailure) {
    super(failure.message, { cause: failure.cause });
    this.name = "ForgeFault";
  }
}

/** A forge by its API: each call resolves to its result, and fails with a fault. */
type ForgeCalls = {
  readonly [Name in keyof Forge]: Forge[Name] extends (
    ...given: infer Given
  ) => Promise<ForgeAnswer<infer Result>>
    ? (...given: Given) => Promise<Result>
    : Forge[Name];
};

/** The same with its faults as values; everything else is a bug and is thrown on. */
export function answerForge(calls: ForgeCalls): Forge {
  const answers = Object.entries(calls).map(([name, call]) => [
    name,
    typeof call === "function" ? answerCall(call as () => Promise<unknown>) : call,
  ]);
  return Object.fromEntries(answers) as Forge;
}

const answerCall =
  <Given extends readonly unknown[], T>(call: (...given: Given) => Promise<T>) =>
  async (...given: Given): Promise<ForgeAnswer<T>> => {
    try {
      return { ok: true, value: await call(...given) };
    } catch (error) {
      if (!(error instanceof ForgeFault)) throw error;
      return { ok: false, failure: error.failure };
    }
  };

/** Null for "there is no such thing". */
export async function nullIfMissing<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ForgeFault && error.failure.code === "not-found") return null;
    throw error;
  }
}

const MESSAGE_CHARS = 300;

/** The failure behind a forge's refusal. `now` is for limits that name a time of day. */
function responseFailure(response: Response, body: string, now: number): ForgeFailure {
  const { status, headers } = response;
  const said = responseText(body);
  const message = `${status}: ${said.slice(0, MESSAGE_CHARS)}`;
  const waitMs = rateLimitWait(status, headers, said, now);
  if (waitMs !== null) {
    const limited = `${message} (too many requests; to be asked again in ${Math.ceil(waitMs / 1000)} s)`;
    return { code: "rate-limited", message: limited, status, retryAfterMs: waitMs };
  }
  if (status === 401) return { code: "unauthorized", message, status };
  if (status === 403) {
    const scope = missingScope(headers, body);
    return scope === null
      ? { code: "forbidden", message, status }
      : { code: "missing-scope", message, status, ...(scope !== "" && { scope }) };
  }
  if (status === 404 || status === 410) return { code: "not-found", message, status };
  if (status === 409) return { code: "conflict", message, status };
  if (status >= 500) return { code: "server-error", message, status };
  return { code: "invalid", message, status };
}

/** GitHub also reports a rate limit with 403, and gives the time in one of three headers. */
function rateLimitWait(status: number, headers: Headers, said: string, now: number): number | null {
  const exhausted = headers.get("x-ratelimit-remaining") === "0";
  const secondary = /secondary rate limit|abuse detection/i.test(said);
  if (status !== 429 && !(status === 403 && (exhausted || secondary || headers.has("retry-after"))))
    return null;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(headers.get("retry-after") ?? "");
  if (Number.isFinite(date)) return Math.max(0, date - now);
  const reset = Number(headers.get("x-ratelimit-reset") ?? headers.get("ratelimit-reset") ?? Number.NaN);
  return Number.isFinite(reset) ? Math.max(0, reset * 1000 - now) : 60_000;
}

/** The scope the forge asks for; empty when it only says that one is missing; null when that is not the reason. */
function missingScope(headers: Headers, body: string): string | null {
  const gitlab = /"error"\s*:\s*"insufficient_scope"/.test(body);
  if (gitlab) return /"scope"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? "";
  const split = (name: string) =>
    (headers.get(name) ?? "").split(",").flatMap((scope) => (scope.trim() === "" ? [] : [scope.trim()]));
  const accepted = split("x-accepted-oauth-scopes");
  const granted = new Set(split("x-oauth-scopes"));
  if (headers.has("x-oauth-scopes") && accepted.length > 0 && !accepted.some((scope) => granted.has(scope)))
    return accepted.join(", ");
  const permissions = headers.get("x-accepted-github-permissions");
  if (/not accessible by (?:personal access token|integration)/i.test(body)) return permissions ?? "";
  return null;
}

function responseText(body: string): string {
  try {
    const answer = JSON.parse(body) as Record<string, unknown>;
    const { message, error_description: description, error, errors } = answer;
    const said = message ?? description ?? error ?? body;
    const text = typeof said === "string" ? said : JSON.stringify(said);
    return [text, ...listErrors(errors)].join("; ");
  } catch {
    return body
      .replace(/<[^<>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim();
  }
}

/** GitHub names what it refuses beside a message that says little: `Validation Failed`. */
function listErrors(errors: unknown): string[] {
  return (Array.isArray(errors) ? errors : []).flatMap((one: unknown) => {
    if (typeof one === "string") return [one];
    const { resource, field, code, message } = (one ?? {}) as Record<string, unknown>;
    const said = typeof message === "string" ? [message] : [resource, field, code];
    const words = said.filter((word) => typeof word === "string").join(" ");
    return words === "" ? [] : [words];
  });
}

export interface ForgeFetchDeps {
  readonly fetch: typeof fetch;
  /** One try. */
  readonly timeoutMs: number;
  /** The longest single wait for a rate limit; a longer one is a failure that says how long. */
  readonly patienceMs: number;
  readonly now: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onWait?: (failure: ForgeFailure, waitMs: number) => void;
  /** Masks requests and error texts: an answer may repeat the token. */
  readonly mask: (text: string) => string;
}

type Query = Readonly<Record<string, string>>;

interface ForgeReply {
  readonly value: unknown;
  /** What the forge's link to the next page asks for, by number or by a mark of its own; null on the last page. */
  readonly next: Query | null;
}

/** Asks a forge for an answer of that shape. */
export type ForgeFetch = (request: Request, signal: AbortSignal, shape?: z.ZodType) => Promise<ForgeReply>;

const READ_RETRY_MS = [500, 2000];
const LIMIT_WAITS = 3;

/**
 * `fetch` for a forge's API: every try has a time limit, a rate limit is waited for, a read is tried again on a server's or the
 * network's error; a write is not, as it may have been done. Remaining errors are thrown as a `ForgeFault`.
 */
export function createForgeFetch(deps: ForgeFetchDeps): ForgeFetch {
  return async (given, signal, shape = z.unknown()) => {
    const request = await maskBody(given, deps.mask);
    let retries = 0;
    for (let waits = 0; ; ) {
      const answer = await fetchOnce(deps, request, signal, shape);
      if ("value" in answer) return answer;
      const tried = { ...answer, message: deps.mask(answer.message) };
      const wait = waitBefore(tried, request.method, { waits, retries }, deps.patienceMs);
      if (wait === null) throw new ForgeFault(tried);
      if (tried.code === "rate-limited") waits++;
      else retries++;
      deps.onWait?.(tried, wait);
      try {
        await deps.pause(wait, signal);
      } catch (cause) {
        throw new ForgeFault({ code: "aborted", message: `aborted while waiting: ${tried.message}`, cause });
      }
    }
  };
}

async function maskBody(request: Request, mask: ForgeFetchDeps["mask"]): Promise<Request> {
  if (request.body === null) return request;
  const text = await request.clone().text();
  const masked = mask(text);
  return masked === text ? request : new Request(request, { body: masked });
}

/** The runtime's words to a developer. */
const RUNTIME_ADVICE = / For more information, pass `verbose: true`.*$/s;

async function fetchOnce(
  { fetch, timeoutMs, now }: ForgeFetchDeps,
  request: Request,
  signal: AbortSignal,
  shape: z.ZodType,
): Promise<ForgeReply | ForgeFailure> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetchOnSite(fetch, request, AbortSignal.any([signal, timeout]));
    if (!(response instanceof Response)) return response;
    // 304 and the like are not asked for; a redirect on the forge's own site was followed.
    const most = response.ok ? MOST_ANSWER_BYTES : MOST_REFUSAL_BYTES;
    const { bytes, isWhole } = await readUpTo(response.body, most);
    const text = bytes.toString("utf8", 0, most);
    if (!response.ok) return responseFailure(response, text, now());
    return isWhole ? readAnswer(request, response, text, shape) : tooLarge(request, response);
  } catch (cause) {
    const host = new URL(request.url).host;
    if (signal.aborted) return { code: "aborted", message: `aborted before ${host} answered`, cause };
    if (timeout.aborted)
      return { code: "timeout", message: `${host} did not answer within ${timeoutMs / 1000} s`, cause };
    return {
      code: "unreachable",
      message: `${host}: ${(cause as Error).message.replace(RUNTIME_ADVICE, "")}`,
      cause,
    };
  }
}

const MOST_REDIRECTS = 5;

/** Follows a redirect on the forge's own site only. The runtime would send GitLab's token anywhere. */
async function fetchOnSite(
  fetch: typeof globalThis.fetch,
  request: Request,
  signal: AbortSignal,
): Promise<Response | ForgeFailure> {
  let asked = request.clone() as Request;
  for (let hops = 0; ; hops++) {
    // A fetch uses the body up, and a redirect may ask for the same one again.
    const again = asked.clone() as Request;
    const response = await fetch(asked, { signal, redirect: "manual" });
    const { status } = response;
    if (![301, 302, 303, 307, 308].includes(status)) return response;
    const target = URL.parse(response.headers.get("location") ?? "", asked.url);
    await response.body?.cancel();
    const keepsMethod = status === 307 || status === 308 || asked.method === "GET" || asked.method === "HEAD";
    if (target === null || !keepsMethod || hops === MOST_REDIRECTS || !isSameSite(new URL(asked.url), target))
      return {
        code: "invalid",
        message: `${asked.url.split("?")[0]} answered ${status} and redirects to ${target?.origin ?? "nowhere"}, which is not followed; check the forge's base_url`,
        status,
      };
    asked = new Request(target.href, again);
  }
}

/** The same host and port, or the step from http to https on their usual ports. */
function isSameSite(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:";
  return isUpgrade && from.hostname === to.hostname && from.port === "" && to.port === "";
}

/** A sign-in page and a wrong address answer with 200 as well: every answer must be what was asked for. */
function readAnswer(
  { url }: Request,
  { status, headers }: Response,
  text: string,
  shape: z.ZodType,
): ForgeReply | ForgeFailure {
  const json = parseJson(text);
  const read = shape.safeParse(json.value);
  if (json.ok && read.success) {
    // Only its query: the token is not sent to an address that an answer names.
    const link = /<([^<>]*)>;[^,<]*\brel="?next\b/.exec(headers.get("link") ?? "")?.[1];
    const next = link === undefined ? null : URL.parse(link, url);
    return { value: read.data, next: next && Object.fromEntries(next.searchParams) };
  }
  const [issue] = read.error?.issues ?? [];
  const trouble =
    json.ok && issue !== undefined ? `${issue.path.join(".") || "it"}: ${issue.message}` : "no JSON";
  const first = responseText(text.slice(0, 20_000)).slice(0, FIRST_WORDS);
  return {
    code: "invalid",
    message: `${url.split("?")[0]} answered ${status} with something else than its API does (${trouble}): ${first}`,
    status,
  };
}

/** An empty body is an answer to a write whose result is of no interest. */
function parseJson(text: string): { readonly ok: boolean; readonly value?: unknown } {
  if (text.trim() === "") return { ok: true };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

const FIRST_WORDS = 120;

/** Git signs in at this address with the token, or clones a folder of this machine: it must be on the forge's own host. */
export function requireOwnAddress(address: string, site: string): string {
  const url = URL.parse(address);
  const own = new URL(site);
  // GitHub's API has a host of its own.
  const hosts = [own.host, own.host.replace(/^api\./, "")];
  const isOwn =
    url !== null &&
    hosts.includes(url.host) &&
    url.username === "" &&
    url.password === "" &&
    (url.protocol === "https:" || (url.protocol === "http:" && own.protocol === "http:"));
  if (isOwn) return address;
  const message = `${own.host} names ${address.slice(0, FIRST_WORDS)} as the repository's address, which is not on its own host; check the forge's base_url`;
  throw new ForgeFault({ code: "invalid", message });
}

/** The longest tree of files that GitHub sends has 7 MB, a page of a hundred long comments about as much. */
const MOST_ANSWER_BYTES = 8 * 1024 ** 2;
/** Of a refusal only a sentence is shown. */
const MOST_REFUSAL_BYTES = 64 * 1024;

function tooLarge(request: Request, { status }: Response): ForgeFailure {
  const most = `${MOST_ANSWER_BYTES / 1024 ** 2} MiB`;
  return {
    code: "invalid",
    message: `${request.url.split("?")[0]} answered ${status} with more than ${most}, which was not read further`,
    status,
  };
}

function waitBefore(
  failure: ForgeFailure,
  method: string,
  { waits, retries }: { readonly waits: number; readonly retries: number },
  patienceMs: number,
): number | null {
  if (failure.code === "rate-limited") {
    const wait = Math.max(failure.retryAfterMs ?? 60_000, 1000);
    return waits < LIMIT_WAITS && wait <= patienceMs ? wait : null;
  }
  const passes =
    failure.code === "server-error" || failure.code === "unreachable" || failure.code === "timeout";
  return passes && method === "GET" ? (READ_RETRY_MS[retries] ?? null) : null;
}

const PAGE_SIZE = 100;
/** A thread of a thousand comments has said what it has to say. */
const MOST_PAGES = 10;

export interface ForgeApiDeps {
  readonly root: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: ForgeFetch;
}

/** A forge's REST API. Each call states the shape that its answer must have, as far as PicoClaw uses it. */
export function createForgeApi({ root, headers, fetch }: ForgeApiDeps) {
  const getPage = (path: string, shape: z.ZodType, signal: AbortSignal, query: Query) =>
    fetch(new Request(`${root}${path}?${new URLSearchParams(query)}`, { headers }), signal, shape);
  return {
    async get<Shape extends z.ZodType>(path: string, shape: Shape, signal: AbortSignal, query: Query = {}) {
      return (await getPage(path, shape, signal, query)).value as z.infer<Shape>;
    },
    async list<Shape extends z.ZodType>(path: string, shape: Shape, signal: AbortSignal, query: Query = {}) {
      const all: z.infer<Shape>[] = [];
      let asked: Query | null = { ...query, per_page: String(PAGE_SIZE) };
      for (let page = 0; asked !== null && page < MOST_PAGES; page++) {
        const { value, next }: ForgeReply = await getPage(path, z.array(shape), signal, asked);
        all.push(...(value as z.infer<Shape>[]));
        asked = next;
      }
      return all;
    },
    async send<Shape extends z.ZodType>(
      method: "POST" | "PATCH" | "PUT",
      path: string,
      body: object,
      signal: AbortSignal,
      shape: Shape,
    ) {
      const url = URL.canParse(path) ? path : `${root}${path}`;
      const json = { ...headers, "content-type": "application/json" };
      const request = new Request(url, { method, headers: json, body: JSON.stringify(body) });
      return (await fetch(request, signal, shape)).value as z.infer<Shape>;
    },
  };
}
