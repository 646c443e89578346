/**
 * An MCP server behind OAuth on loopback, with its authorization server: registration of clients, PKCE, refresh tokens that
 * are good for one use and end the whole login when one comes twice. Its user agrees at once.
 */
import { createHash, randomUUID } from "node:crypto";

export interface OauthMcpOptions {
  /** Only the older HTTP+SSE transport. */
  readonly isOlder?: boolean;
  /** No login is required. */
  readonly isOpen?: boolean;
  /** Clients must be known beforehand: `picoclaw-by-hand` with the secret `swordfish-swordfish`. */
  readonly withoutRegistration?: boolean;
  readonly tokenSeconds?: number;
  /** No code is taken for a token. */
  readonly refusesCodes?: boolean;
  /** The authorization server's description of itself, instead of a right one. */
  readonly metadata?: (base: string) => Response | Promise<Response>;
}

export interface OauthMcpServer {
  readonly url: string;
  /** Requests, as `POST /token refresh_token`. */
  readonly seen: readonly string[];
  /** Access tokens stop working, refresh tokens go on. */
  expire(): void;
  /** The login ends, refresh tokens too. */
  revoke(): void;
  /** Acts on the address as a browser would: the user agrees, and it follows the redirect. Resolves to the page's text. */
  browse(address: string, options?: { readonly refuse?: boolean; readonly stay?: boolean }): Promise<string>;
  stop(): void;
}

const json = (value: unknown, status = 200) => Response.json(value, { status });

export function startOauthMcp(options: OauthMcpOptions = {}): OauthMcpServer {
  const { tokenSeconds = 3600 } = options;
  const seen: string[] = [];
  const clients = new Map<string, { readonly redirects: readonly string[]; readonly secret?: string }>();
  if (options.withoutRegistration)
    clients.set("picoclaw-by-hand", { redirects: [], secret: "swordfish-swordfish" });
  const codes = new Map<string, { client: string; redirect: string; challenge: string }>();
  const access = new Set<string>();
  const refresh = new Set<string>();
  const used = new Set<string>();
  const streams = new Map<string, (data: string) => void>();

  const http = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: answer });
  const base = `http://127.0.0.1:${http.port}`;
  const path = options.isOlder ? "/sse" : "/mcp";

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const form = url.pathname === "/token" ? new URLSearchParams(await request.text()) : null;
    seen.push([request.method, url.pathname, form?.get("grant_type") ?? ""].join(" ").trim());
    switch (url.pathname) {
      case `/.well-known/oauth-protected-resource${path}`:
        return json({ resource: base + path, authorization_servers: [base], scopes_supported: ["tickets"] });
      case "/.well-known/oauth-authorization-server":
        if (options.metadata !== undefined) return options.metadata(base);
        return json({
          issuer: base,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          ...(!options.withoutRegistration && { registration_endpoint: `${base}/register` }),
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none", "client_secret_post"],
        });
      case "/register": {
        const asked = (await request.json()) as { redirect_uris: string[] };
        const id = randomUUID();
        clients.set(id, { redirects: asked.redirect_uris });
        return json({ ...asked, client_id: id }, 201);
      }
      case "/authorize": {
        const client = clients.get(url.searchParams.get("client_id") ?? "");
        const redirect = url.searchParams.get("redirect_uri") ?? "";
        if (client === undefined || (client.secret === undefined && !client.redirects.includes(redirect)))
          return json({ error: "invalid_client" }, 400);
        const back = new URL(redirect);
        back.searchParams.set("state", url.searchParams.get("state") ?? "");
        if (url.searchParams.has("refuse")) back.searchParams.set("error", "access_denied");
        else {
          const code = randomUUID();
          const challenge = url.searchParams.get("code_challenge") ?? "";
          codes.set(code, { client: url.searchParams.get("client_id") ?? "", redirect, challenge });
          back.searchParams.set("code", code);
        }
        return Response.redirect(back.href, 302);
      }
      case "/token":
        if (options.refusesCodes === true) return json({ error: "invalid_grant" }, 400);
        return token(form ?? new URLSearchParams());
      default:
        return serveMcp(request, url);
    }
  }

  function token(form: URLSearchParams): Response {
    const id = form.get("client_id") ?? "";
    const secret = clients.get(id)?.secret;
    if (!clients.has(id) || (secret !== undefined && secret !== form.get("client_secret")))
      return json({ error: "invalid_client" }, 401);
    if (form.get("grant_type") === "refresh_token") {
      const given = form.get("refresh_token") ?? "";
      if (used.has(given)) revoke();
      if (!refresh.delete(given)) return json({ error: "invalid_grant" }, 400);
      used.add(given);
      return issue();
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const proof = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      code?.client === id && code.challenge === proof && code.redirect === form.get("redirect_uri");
    return isRight ? issue() : json({ error: "invalid_grant" }, 400);
  }

  function issue(): Response {
    const [one, two] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    access.add(one);
    refresh.add(two);
    return json({ access_token: one, refresh_token: two, token_type: "Bearer", expires_in: tokenSeconds });
  }

  function revoke(): void {
    access.clear();
    refresh.clear();
  }

  async function serveMcp(request: Request, url: URL): Promise<Response> {
    const isAllowed =
      options.isOpen || access.has((request.headers.get("authorization") ?? "").replace(/^Bearer /, ""));
    const known = options.isOlder ? ["/sse", "/messages"] : ["/mcp"];
    if (!known.includes(url.pathname)) return new Response("no such page", { status: 404 });
    if (!isAllowed)
      return new Response("log in first", {
        status: 401,
        headers: {
          "www-authenticate": `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource${path}"`,
        },
      });
    if (options.isOlder && url.pathname === "/sse") {
      if (request.method !== "GET") return new Response("no", { status: 405 });
      const id = randomUUID();
      const body = new ReadableStream({
        start(stream) {
          const write = (text: string) => stream.enqueue(new TextEncoder().encode(text));
          write(`event: endpoint\ndata: /messages?id=${id}\n\n`);
          streams.set(id, (data) => write(`event: message\ndata: ${data}\n\n`));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    }
    if (request.method !== "POST") return new Response("no", { status: 405 });
    const reply = replyTo((await request.json()) as RpcRequest);
    if (!options.isOlder) return reply === null ? new Response(null, { status: 202 }) : json(reply);
    if (reply !== null) streams.get(url.searchParams.get("id") ?? "")?.(JSON.stringify(reply));
    return new Response(null, { status: 202 });
  }

  return {
    url: base + path,
    seen,
    expire: () => access.clear(),
    revoke,
    async browse(address, { refuse = false, stay = false } = {}) {
      const page = await fetch(refuse ? `${address}&refuse=1` : address, { redirect: "manual" });
      const back = page.headers.get("location") ?? "";
      return stay ? back : (await fetch(back)).text();
    },
    stop: () => void http.stop(true),
  };
}

interface RpcRequest {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly id?: number } };
}

function replyTo({ id, method, params }: RpcRequest): object | null {
  if (id === undefined) return null;
  const result = () => {
    if (method === "initialize")
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "tickets", version: "1.0.0" },
      };
    if (method === "tools/list")
      return {
        tools: [
          { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
          { name: "close", inputSchema: { type: "object" } },
        ],
      };
    return { content: [{ type: "text", text: `ticket ${params?.arguments?.id}` }] };
  };
  return { jsonrpc: "2.0", id, result: result() };
}
