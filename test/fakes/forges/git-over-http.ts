import type { World } from "./world.ts";

/**
 * Real git over HTTP: `git http-backend` as a CGI program behind Basic authentication. Reading and writing both need
 * the world's token.
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
  const child = Bun.spawn(["git", "-c", "http.receivepack=true", "http-backend"], {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: "/nonexistent",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      GIT_PROJECT_ROOT: repository.folder,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: rest,
      REQUEST_METHOD: request.method,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers.get("content-type") ?? "",
      HTTP_CONTENT_ENCODING: request.headers.get("content-encoding") ?? "",
      HTTP_GIT_PROTOCOL: request.headers.get("git-protocol") ?? "",
      REMOTE_USER: world.bot.login,
      REMOTE_ADDR: "127.0.0.1",
    },
    stdin: new Uint8Array(await request.arrayBuffer()),
    stdout: "pipe",
    stderr: "ignore",
  });
  const output = Buffer.from(await new Response(child.stdout).arrayBuffer());
  const end = output.indexOf("\r\n\r\n");
  const headers = new Headers();
  let status = 200;
  for (const line of output.subarray(0, end).toString("latin1").split("\r\n")) {
    const colon = line.indexOf(":");
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    if (field.toLowerCase() === "status") status = Number.parseInt(value, 10);
    else if (field !== "") headers.set(field, value);
  }
  return new Response(output.subarray(end + 4), { status, headers });
}
