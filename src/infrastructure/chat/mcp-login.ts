/** OAuth at MCP servers. A login is kept by the server's address: a project that uses a known name for another address gets no token. */

import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  refreshAuthorization,
} from "@modelcontextprotocol/sdk/client/auth.js";
import {
  InvalidClientError,
  InvalidGrantError,
  OAuthError,
  UnauthorizedClientError,
} from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { untilAborted } from "../../application/platform/waiting.ts";
import {
  isOlderServer,
  type McpLoginOutcome,
  type McpLoginRequest,
  type McpLoginState,
  type McpServerSettings,
} from "../../domain/chat/mcp-servers.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readUpTo } from "../../domain/platform/file-bytes.ts";
import { withFolderLocks } from "../platform/folder-lock.ts";
import { replaceFile } from "../platform/text-files.ts";

/** One file a server, `0600`, in a folder of the home that commands of jobs do not see. */
interface KeptLogin {
  readonly url: string;
  /** The redirect that the client was registered with; many servers compare it with its port. */
  readonly redirect?: string | undefined;
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly tokens?: OAuthTokens | undefined;
  readonly expiresAt?: number | undefined;
  readonly discovery?: OAuthDiscoveryState | undefined;
}

export type McpLogins = ReturnType<typeof openMcpLogins>;

export function openMcpLogins(home: string, now: () => number = Date.now) {
  const folder = join(home, "mcp-logins");
  const fileOf = (url: string) =>
    join(folder, `${createHash("sha256").update(url).digest("hex").slice(0, 32)}.json`);
  /** A missing or broken file counts as no login; the next login replaces it. */
  const read = (url: string): KeptLogin | null =>
    attemptOr(null, () => {
      const kept = JSON.parse(readFileSync(fileOf(url), "utf8")) as KeptLogin;
      return kept.url === url ? kept : null;
    });
  return {
    folder,
    now,
    read,
    write(login: KeptLogin): void {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      replaceFile(fileOf(login.url), `${JSON.stringify(login)}\n`);
    },
    /** False: there was none. */
    forget(url: string): boolean {
      const had = read(url)?.tokens !== undefined;
      replaceFile(fileOf(url), null);
      return had;
    },
  };
}

/** The server refuses clients without a login. The message is the remedy, in words of no language. */
class McpLoginNeeded extends Error {
  constructor(readonly server: string) {
    super(`401: picoclaw mcp login ${server}`);
  }
}

const EARLY_MS = 30_000;
const LOCK_MS = 20_000;
const PROBE_MS = 3_000;
const LOGIN_MS = 5 * 60_000;
const ANSWER_MS = 10_000;
const LARGEST_ANSWER = 1024 * 1024;
const LONGEST_REASON = 300;

/** Whether a login can help at all: with a token in a header, the user authenticates in another way. */
function takesLogin(server: McpServerSettings): server is ServerWithAddress {
  const names = Object.keys(server.headers);
  return server.url !== undefined && !names.some((name) => name.toLowerCase() === "authorization");
}

type ServerWithAddress = McpServerSettings & { readonly url: string };

/** `fetch` with a server's token. A refresh token is often good for one use, so one process renews under a lock and the others read. */
export function createAuthorisedFetch(
  server: ServerWithAddress,
  logins: McpLogins,
): { readonly fetch: FetchLike; needsLogin(): boolean } {
  const { name, url, oauth } = server;
  const { origin } = new URL(url);
  const state = { needsLogin: false };
  const isLoginUsed = takesLogin(server);

  async function renew(stale: string): Promise<void> {
    const done = await withFolderLocks([logins.folder], { timeoutMs: LOCK_MS }, async () => {
      const kept = logins.read(url);
      const { tokens, client, discovery } = kept ?? {};
      if (kept === null || tokens?.access_token !== stale) return;
      if (tokens.refresh_token === undefined || client === undefined || discovery === undefined)
        return logins.write({ ...kept, tokens: undefined });
      try {
        const fresh = await refreshAuthorization(discovery.authorizationServerUrl, {
          ...(discovery.authorizationServerMetadata !== undefined && {
            metadata: discovery.authorizationServerMetadata,
          }),
          ...(discovery.resourceMetadata !== undefined && { resource: discovery.resourceMetadata.resource }),
          clientInformation: withSecret(client, oauth),
          refreshToken: tokens.refresh_token,
        });
        logins.write(withTokens(kept, { ...fresh, issuer: tokens.issuer } as OAuthTokens, logins.now()));
      } catch (error) {
        // The server has decided; any other failure (no network, a server error) may pass.
        if (!(error instanceof InvalidGrantError || isUnknownClient(error)))
          throw new Error(`${name}: ${errorMessage(error)}`, { cause: error });
        logins.write({ ...kept, tokens: undefined, ...(isUnknownClient(error) && { client: undefined }) });
      }
    });
    if (done === "busy") throw new Error(`${name}: another process renews the login`);
  }

  return {
    needsLogin: () => state.needsLogin,
    async fetch(input, init) {
      const isServer = isLoginUsed && new URL(input, url).origin === origin;
      const send = async (token: string | undefined) => {
        const headers = new Headers(init?.headers);
        if (isServer && token !== undefined) headers.set("authorization", `Bearer ${token}`);
        return fetch(input, { ...init, headers });
      };
      if (!isServer) return send(undefined);
      const kept = logins.read(url);
      let token = kept?.tokens?.access_token;
      if (token !== undefined && (kept?.expiresAt ?? Number.POSITIVE_INFINITY) - EARLY_MS < logins.now()) {
        await renew(token);
        token = logins.read(url)?.tokens?.access_token;
      }
      let response = await send(token);
      if (response.status === 401 && token !== undefined) {
        await response.body?.cancel();
        await renew(token);
        const renewed = logins.read(url)?.tokens?.access_token;
        if (renewed !== undefined) response = await send(renewed);
      }
      if (response.status !== 401) return response;
      await response.body?.cancel();
      state.needsLogin = true;
      throw new McpLoginNeeded(name);
    },
  };
}

/** Whether a server requires a login. Asks the server, with a short time limit, if no login is kept. */
export async function readLoginState(server: McpServerSettings, logins: McpLogins): Promise<McpLoginState> {
  if (!takesLogin(server)) return "none";
  const kept = logins.read(server.url);
  const isUsable =
    kept?.tokens !== undefined &&
    (kept.tokens.refresh_token !== undefined || (kept.expiresAt ?? Number.POSITIVE_INFINITY) > logins.now());
  if (isUsable) return "kept";
  try {
    const { status } = await probe(server.url, server.headers, AbortSignal.timeout(PROBE_MS));
    return status === 401 ? "needed" : "none";
  } catch {
    return "unreachable";
  }
}

/** Logs in to a server. Ends within five minutes; never rejects. Only a login that worked is kept. */
export async function loginToMcpServer(
  server: McpServerSettings,
  logins: McpLogins,
  request: McpLoginRequest,
  { answerMs = ANSWER_MS }: { readonly answerMs?: number } = {},
): Promise<McpLoginOutcome> {
  if (server.url === undefined) return { kind: "no-address" };
  if (!takesLogin(server)) return { kind: "has-header" };
  const { url } = server;
  const limit = AbortSignal.any([request.signal, AbortSignal.timeout(LOGIN_MS)]);
  const ends: (() => void)[] = [];
  try {
    const asked = await probe(url, server.headers, AbortSignal.any([limit, AbortSignal.timeout(answerMs)]));
    if (asked.status >= 200 && asked.status < 300) return { kind: "not-needed" };
    if (asked.status !== 401) return { kind: "failed", detail: `HTTP ${asked.status}` };
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(asked);
    const back = await listenForRedirect(server, logins.read(url)?.redirect, request.page);
    ends.push(back.close);
    const provider = createLoginProvider(server, logins, back.redirect);
    const about = {
      serverUrl: url,
      fetchFn: (input: string | URL, init?: RequestInit) =>
        fetchSmall(input, { ...init, signal: AbortSignal.any([limit, AbortSignal.timeout(answerMs)]) }),
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    };
    await auth(provider, about);
    const address = provider.address();
    if (address === null) return { kind: "failed", detail: "no authorization address" };
    const answer = await Promise.race([
      back.answer(provider.sentState),
      pastedRedirect(request.announce(address.href), provider.sentState),
      untilAborted(limit).then(() => null),
    ]);
    if (answer === null) return { kind: request.signal.aborted ? "stopped" : "too-late" };
    if ("unread" in answer) return { kind: "bad-paste", detail: `${back.redirect}?` };
    if ("error" in answer) return { kind: "denied", detail: answer.error };
    await auth(provider, { ...about, authorizationCode: answer.code });
    await back.tell(true);
    return { kind: "done" };
  } catch (error) {
    if (request.signal.aborted) return { kind: "stopped" };
    if (/dynamic client registration/i.test(errorMessage(error))) return { kind: "no-registration" };
    if (error instanceof Error && error.name === "TimeoutError")
      return limit.aborted
        ? { kind: "too-late" }
        : { kind: "silent", detail: String(Math.ceil(answerMs / 1000)) };
    if (isUnusableAnswer(error)) return { kind: "bad-server" };
    return { kind: "failed", detail: errorMessage(error) };
  } finally {
    for (const end of ends) end();
  }
}

/** The redirect that a person pastes by hand; stays pending if no person does. */
async function pastedRedirect(
  pasting: Promise<string | null>,
  state: string,
): Promise<Redirected | { readonly unread: true }> {
  const pasted = (await pasting)?.trim();
  if (pasted === undefined) return new Promise(() => {});
  // Some servers leave the state out of a refusal; ending the login is all that it can do.
  return readRedirect(pasted, state) ?? readRefusalWithoutState(pasted) ?? { unread: true };
}

/** A server's answer that cannot be used: too large, or an address that is not HTTP. */
class UnusableAnswer extends Error {}

/** `fetch` whose answer is read at once, up to a size. */
async function fetchSmall(input: string | URL, init: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const { bytes, isWhole } = await readUpTo(response.body, LARGEST_ANSWER);
  if (!isWhole) throw new UnusableAnswer("the answer is too large");
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(bytes.length === 0 ? null : bytes, { status, statusText, headers });
}

/** Asks without a token, by the present transport and then by the older one; the answer's body is not read. */
async function probe(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const asked = await fetch(url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "picoclaw", version: "1" },
      },
    }),
    signal,
  });
  await asked.body?.cancel();
  if (!isOlderServer(asked.status)) return asked;
  const older = await fetch(url, { headers: { ...headers, accept: "text/event-stream" }, signal });
  await older.body?.cancel();
  return older;
}

type Redirected = { readonly code: string } | { readonly error: string };

/** Listens on loopback for the redirected browser, on the last port if that is free. */
async function listenForRedirect(
  { oauth }: McpServerSettings,
  last: string | undefined,
  page: McpLoginRequest["page"],
) {
  const waiting = Promise.withResolvers<Redirected>();
  let expected: string | null = null;
  let held: ServerResponse | null = null;
  const show = (response: ServerResponse, status: 200 | 400, isDone: boolean): Promise<void> => {
    response.writeHead(status, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'",
      connection: "close",
    });
    const text = `<!doctype html><meta charset="utf-8"><title>PicoClaw</title><p>${isDone ? page.done : page.failed}</p>`;
    return new Promise((resolve) => {
      response.once("close", resolve);
      response.end(text, () => resolve());
    });
  };
  const http = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? "/", "http://127.0.0.1");
    const read = expected === null ? null : readRedirect(search, expected);
    const isOurs = request.method === "GET" && pathname === "/callback" && read !== null;
    if (!isOurs || held !== null || !("code" in read)) void show(response, isOurs ? 200 : 400, false);
    else held = response;
    if (isOurs) waiting.resolve(read);
  });
  const wanted = oauth?.callback_port ?? (last === undefined ? 0 : Number(new URL(last).port));
  const port = await listenOn(http, wanted, oauth?.callback_port === undefined);
  return {
    redirect: `http://127.0.0.1:${port}/callback`,
    answer(state: string): Promise<Redirected> {
      expected = state;
      return waiting.promise;
    },
    /** Shows the returning browser the result of the login, which is known only after the code was exchanged. */
    async tell(isDone: boolean): Promise<void> {
      if (held !== null && !held.headersSent) await show(held, 200, isDone);
    },
    close(): void {
      http.close();
      // A browser that still waits for the login's end gets a page that says it failed.
      const answered = held === null || held.headersSent ? Promise.resolve() : show(held, 200, false);
      void answered.then(() => http.closeAllConnections());
    },
  };
}

async function listenOn(http: Server, port: number, mayMove: boolean): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      http.once("error", reject);
      http.listen(port, "127.0.0.1", () => {
        http.off("error", reject);
        resolve();
      });
    });
    return (http.address() as AddressInfo).port;
  } catch (error) {
    if (!mayMove || port === 0) throw error;
    return listenOn(http, 0, false);
  }
}

/** The code in the address of a redirect; null if there is none, or it answers another request. */
function readRedirect(text: string | null, state: string): Redirected | null {
  const search = text === null ? "" : text.slice(Math.max(0, text.indexOf("?")));
  const found = new URLSearchParams(search);
  if (found.get("state") !== state) return null;
  const code = found.get("code");
  return code === null ? readRefusal(found) : { code };
}

function readRefusal(found: URLSearchParams): Redirected | null {
  const error = found.get("error");
  if (error === null) return null;
  const reason = [error, found.get("error_description") ?? ""].join(" ").trim();
  return { error: reason.slice(0, LONGEST_REASON) };
}

function readRefusalWithoutState(text: string): Redirected | null {
  const found = new URLSearchParams(text.slice(Math.max(0, text.indexOf("?"))));
  return found.has("state") ? null : readRefusal(found);
}

function createLoginProvider(
  server: ServerWithAddress,
  logins: McpLogins,
  redirect: string,
): OAuthClientProvider & { readonly sentState: string; address(): URL | null } {
  const { url, oauth } = server;
  const sentState = randomBytes(24).toString("base64url");
  const seen: { verifier: string; address: URL | null } = { verifier: "", address: null };
  // Nothing is written before there are tokens: a login that fails keeps the old one.
  let draft: KeptLogin = logins.read(url) ?? { url };
  return {
    sentState,
    address: () => seen.address,
    redirectUrl: redirect,
    clientMetadata: {
      client_name: "PicoClaw",
      redirect_uris: [redirect],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: oauth?.client_secret === undefined ? "none" : "client_secret_post",
      ...(oauth?.scope !== undefined && { scope: oauth.scope }),
    },
    state: () => sentState,
    clientInformation() {
      const { client, redirect: registered } = draft;
      if (oauth?.client_id !== undefined) {
        const issuer = client?.client_id === oauth.client_id ? client.issuer : undefined;
        return withSecret({ client_id: oauth.client_id, ...(issuer !== undefined && { issuer }) }, oauth);
      }
      return registered === redirect ? client : undefined;
    },
    saveClientInformation(client) {
      // A secret of the configuration stays there.
      const { client_secret, ...open } = client;
      const own = oauth?.client_secret === undefined && client_secret !== undefined ? { client_secret } : {};
      draft = { ...draft, client: { ...open, ...own }, redirect };
    },
    // A login always asks again: the user wants another account, or has lost the old one.
    tokens: () => undefined,
    saveTokens(tokens) {
      const client =
        draft.client ?? (oauth?.client_id === undefined ? undefined : { client_id: oauth.client_id });
      draft = withTokens({ ...draft, client, redirect }, tokens, logins.now());
      logins.write(draft);
    },
    redirectToAuthorization(address) {
      if (!/^https?:$/.test(address.protocol))
        throw new UnusableAnswer(`not a web address: ${address.protocol}`);
      seen.address = address;
    },
    saveCodeVerifier(verifier) {
      seen.verifier = verifier;
    },
    codeVerifier: () => seen.verifier,
    saveDiscoveryState(discovery) {
      draft = { ...draft, discovery };
    },
  };
}

function withSecret(
  client: OAuthClientInformationMixed,
  oauth: McpServerSettings["oauth"],
): OAuthClientInformationMixed {
  return oauth?.client_secret === undefined ? client : { ...client, client_secret: oauth.client_secret };
}

function withTokens(kept: KeptLogin, tokens: OAuthTokens, now: number): KeptLogin {
  const { expires_in: seconds } = tokens;
  return { ...kept, tokens, expiresAt: seconds === undefined ? undefined : now + seconds * 1_000 };
}

function isUnknownClient(error: unknown): boolean {
  return error instanceof InvalidClientError || error instanceof UnauthorizedClientError;
}

/** Too large, no JSON, or JSON of another shape than the protocol's. */
function isUnusableAnswer(error: unknown): boolean {
  if (error instanceof UnusableAnswer || error instanceof SyntaxError) return true;
  return error instanceof Error && (/ZodError$/.test(error.name) || "issues" in error);
}

function errorMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // The library appends the server's whole answer to its own message.
  const [own = ""] = text.split(/[.:]? ?Raw body:/);
  const short = own.length > LONGEST_REASON ? `${own.slice(0, LONGEST_REASON)}…` : own;
  return error instanceof OAuthError ? `${error.errorCode} ${short}`.trim() : short;
}
