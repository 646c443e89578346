/** While nothing is configured the console's first page is the set-up; what answers is written, and holds at once. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, createCli, NO_LLAMA_SERVER, until } from "../../e2e/cli-kit.ts";
import { signIn, type Visitor } from "./web-kit.ts";

/** An Ollama with two models, one of which never answers. */
async function answer(request: Request): Promise<Response> {
  if (request.url.endsWith("/api/tags"))
    return Response.json({ models: [{ name: "gemma3:4b" }, { name: "deaf:7b" }] });
  const { model } = (await request.json()) as { model: string };
  if (model !== "gemma3:4b") return new Response("out of memory", { status: 500 });
  const message = { role: "assistant", content: "OK" };
  return new Response(`${JSON.stringify({ model, message, done: true, done_reason: "stop" })}\n`);
}

let cli: Cli;
let stop = async () => {};
beforeEach(() => {
  cli = createCli();
});
afterEach(async () => {
  await stop();
  cli.remove();
});

async function serve(env: Readonly<Record<string, string>>): Promise<string> {
  const child = cli.start(["serve", "--port", "0", "--json"], {
    DOCKER_HOST: "unix:///none.sock",
    ...NO_LLAMA_SERVER,
    ...env,
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  let out = "";
  child.stdout?.on("data", (data) => {
    out += String(data);
  });
  await until(() => out.includes("\n"));
  return (JSON.parse(out) as { login: string }).login;
}

/** The page once the models have been tried. */
async function tried(visitor: Visitor): Promise<string> {
  for (;;) {
    const page = await visitor.text("/setup");
    if (!page.includes("Sending one test message")) return page;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("an operator is led through it; a model that is silent is not written, one that answers is used", async () => {
  const ollama = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  try {
    const operator = await signIn(await serve({ OLLAMA_HOST: `127.0.0.1:${ollama.port}` }));
    const config = join(cli.home, "config.yaml");
    expect((await operator.get("/chat")).headers.get("location")).toBe("/setup");
    const page = await operator.text("/setup");
    expect(page.includes("gemma3:4b, deaf:7b")).toBe(true);
    expect(page.includes('<option value="ollama/gemma3:4b"')).toBe(true);

    await operator.post("/setup", { chat: "ollama/deaf:7b", coder: "" });
    expect((await tried(operator)).includes("ollama/deaf:7b does not answer")).toBe(true);
    await operator.post("/setup", { chat: "ollama/nobody", coder: "" });
    expect(existsSync(config)).toBe(false);

    await operator.post("/setup", { chat: "ollama/gemma3:4b", coder: "ollama/gemma3:4b" });
    expect((await tried(operator)).includes(`Wrote the configuration: ${config}`)).toBe(true);
    expect(readFileSync(config, "utf8")).toContain('chat: { provider: ollama, model: "gemma3:4b" }');
    expect(readFileSync(config, "utf8")).not.toContain("local_only: false");
    expect((await operator.get("/chat")).headers.get("location")).toBe("/chat/operator");
    expect((await operator.text("/system")).includes("ollama/gemma3:4b")).toBe(true);
  } finally {
    await ollama.stop(true);
  }
}, 300_000);

test("without any model it says the two ways out; users and configured servers are not led there", async () => {
  const login = await serve({ PICOCLAW_OLLAMA_BASE_URL: "http://127.0.0.1:9" });
  const operator = await signIn(login);
  expect((await operator.text("/setup")).includes("No model answers, so nothing was written.")).toBe(true);
  const { origin, port } = new URL(login);
  const link = cli.run(["serve", "link", "--json", "--port", port, "--user", "mei", "--role", "user"]);
  const mei = await signIn((JSON.parse(link.out) as { login: string }).login);
  expect((await mei.get(`${origin}/chat`)).headers.get("location")).toBe("/chat/mei");
  expect((await mei.get(`${origin}/setup`)).status).toBe(403);
  expect((await mei.post(`${origin}/setup`, { chat: "", coder: "" })).status).toBe(403);
}, 300_000);
