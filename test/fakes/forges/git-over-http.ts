import { gunzipSync } from "node:zlib";
import type { World } from "./world.ts";

/**
 * Real git over HTTP behind Basic authentication: what `git http-backend` does, in this process, so that a request takes one
 * process of git and not three. Reading and writing both need the world's token.
 */
export async function gitOverHttp(world: World, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const [, name = "", rest = ""] = /^\/(.+?)\.git(\/.*)$/.exec(url.pathname) ?? [];
  const repository = world.repositories.get(name);
  const [kind = "", secret = ""] = (request.headers.get("authorization") ?? "").split(" ");
  const password = kind === "Basic" ? (atob(secret).split(":")[1] ?? "") : "";
  if (password === "")
    return new Response("sign in\n", { status: 401, headers: { "www-authenticate": 'Basic realm="git"' } });
  if (password !== world.token) return new Response("bad token\n", { status: 403 });
  if (repository?.folder == null) return new Response("no such repository\n", { status: 404 });
  const writes = rest.includes("receive-pack") || url.searchParams.get("service") === "git-receive-pack";
  const permission = repository.permissions.get(world.bot.login);
  if (writes && permission !== "write" && permission !== "admin")
    return new Response("write access is not granted\n", { status: 403 });
  const service = /git-(upload|receive)-pack$/.exec(url.searchParams.get("service") ?? rest)?.[0];
  if (service === undefined) return new Response("no such service\n", { status: 403 });
  const asks = rest === "/info/refs";
  if (!asks && (request.method !== "POST" || rest !== `/${service}`))
    return new Response("no such page\n", { status: 404 });
  const protocol = request.headers.get("git-protocol") ?? "";
  const sent = Buffer.from(await request.arrayBuffer());
  const child = Bun.spawn(
    [
      ...["git", "-c", "safe.directory=*", "-c", "receive.autogc=false", service.slice("git-".length)],
      ...[asks ? "--http-backend-info-refs" : "--stateless-rpc", repository.folder],
    ],
    {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: "/nonexistent",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_PROTOCOL: protocol,
        GIT_COMMITTER_NAME: world.bot.login,
        GIT_COMMITTER_EMAIL: `${world.bot.login}@http.127.0.0.1`,
      },
      stdin: request.headers.get("content-encoding") === "gzip" ? gunzipSync(sent) : sent,
      stdout: "pipe",
      stderr: "ignore",
    },
  );
  const output = Buffer.from(await new Response(child.stdout).arrayBuffer());
  const greeting = asks && !protocol.includes("version=2") ? `${packet(`# service=${service}\n`)}0000` : "";
  const type = `application/x-${service}-${asks ? "advertisement" : "result"}`;
  return new Response(Buffer.concat([Buffer.from(greeting), output]), {
    headers: { "content-type": type, "cache-control": "no-cache, max-age=0, must-revalidate" },
  });
}

/** A line as git's protocol frames it. */
function packet(line: string): string {
  return `${(line.length + 4).toString(16).padStart(4, "0")}${line}`;
}
