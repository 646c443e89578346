import { gitOverHttp } from "./git-over-http.ts";
import { type RecordedRequest, takeFault, type World } from "./world.ts";

export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export type Route = readonly [method: string, path: string, answer: (call: Call) => Answer];

interface Api {
  readonly prefix: string;
  readonly authorized: (request: Request) => boolean;
  readonly routes: readonly Route[];
  /** Answers at `/api/graphql`. */
  readonly graphql?: (query: string, variables: Readonly<Record<string, string>>) => unknown;
  /** The faults of a request by the forge's own description. */
  readonly check?: (request: RecordedRequest) => readonly string[];
}

/** A forge on a free port of this machine: its API below a prefix, git over HTTP beside it. */
export function serveApi(world: World, api: Api, host = "127.0.0.1") {
  const patterns = api.routes.map(([method, path, answer]) => ({
    method,
    path,
    answer,
    match: matcher(path),
  }));
  const server = Bun.serve({
    hostname: host,
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/api/graphql" && api.graphql !== undefined) {
        if (!api.authorized(request)) return Response.json({ message: "Bad credentials" }, { status: 401 });
        const { query, variables } = (await request.json()) as {
          query: string;
          variables: Record<string, string>;
        };
        const fault = takeFault(world, request.method, "/graphql");
        return fault === undefined ? Response.json(api.graphql(query, variables)) : fault.answer();
      }
      if (!pathname.startsWith(`${api.prefix}/`)) return gitOverHttp(world, request);
      const path = pathname.slice(api.prefix.length);
      const text = await request.text();
      const body = text === "" ? undefined : (JSON.parse(text) as unknown);
      const query = Object.fromEntries(searchParams);
      const recorded = { method: request.method, path, query, body };
      world.requests.push(recorded);
      world.violations.push(...(api.check?.(recorded) ?? []));
      const fault = takeFault(world, request.method, path);
      if (fault !== undefined) return fault.answer();
      if (!api.authorized(request)) return Response.json({ message: "Bad credentials" }, { status: 401 });
      for (const { method, match, answer } of patterns) {
        const params = method === request.method ? match(path) : null;
        if (params === null) continue;
        const { status, body: said } = answer({ params, query, body });
        const isFull = Array.isArray(said) && said.length === Number(query.per_page);
        const headers = isFull ? { link: `<${nextPage(request.url)}>; rel="next"` } : {};
        return status === 204 ? new Response(null, { status }) : Response.json(said, { status, headers });
      }
      return Response.json({ message: `no route for ${request.method} ${path}` }, { status: 404 });
    },
  });
  return {
    url: `http://${host}:${server.port}`,
    stop: () => server.stop(true),
  };
}

function nextPage(address: string): string {
  const url = new URL(address);
  url.searchParams.set("page", String(Number(url.searchParams.get("page") ?? 1) + 1));
  return url.href;
}

function matcher(path: string): (given: string) => Record<string, string> | null {
  const names: string[] = [];
  const source = path.replace(/:([a-z]+)/g, (_, name: string) => {
    names.push(name);
    return "([^/]+)";
  });
  const pattern = new RegExp(`^${source}$`);
  return (given) => {
    const found = pattern.exec(given);
    if (found === null) return null;
    return Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1] ?? "")]));
  };
}
