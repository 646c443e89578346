/** The program as it is configured by default (Ollama, DeepSeek, OpenAI, Claude), over their real protocols. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCli, PROGRAM } from "../../e2e/cli-kit.ts";
import type { Fault } from "../../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";
import { proposal, replace, worked } from "./chat-kit.ts";

let cli: ReturnType<typeof createCli>;
let server: ModelServer;

beforeEach(async () => {
  cli = createCli();
  server = await startModelServer();
  mkdirSync(cli.home);
  configure(server.config());
});
afterEach(async () => {
  await server.stop();
  await cli.remove();
});

function configure(config: object): void {
  writeFileSync(join(cli.home, "config.yaml"), JSON.stringify(config));
}

async function chat(message: string): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([PROGRAM, "chat", message], {
    cwd: cli.workspace,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: join(cli.folder, "user"),
      PICOCLAW_HOME: cli.home,
      PICOCLAW_LOCALE: "en",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

const fix = (before: string, after: string) => ({
  text: proposal("Change it", replace("a.txt", before, after)),
});

test("each role speaks its provider's protocol, and what it proposes is done", async () => {
  cli.write("a.txt", "0\n");
  for (const [turn, [command, protocol]] of (
    [
      ["/code1", "openai-chat"],
      ["/code2", "openai-responses"],
      ["/code3", "anthropic"],
      ["/code", "anthropic"],
    ] as const
  ).entries()) {
    server.say(fix(String(turn), String(turn + 1)));
    expect((await chat(`${command} raise a.txt`)).code).toBe(0);
    expect(cli.read("a.txt")).toBe(`${turn + 1}\n`);
    expect(server.requests.at(-1)?.protocol).toBe(protocol);
  }
  server.say({ text: "Hello from Ollama." });
  expect((await chat("/chat hello")).out).toBe("Hello from Ollama.\n");
  expect(server.requests.at(-1)).toMatchObject({
    protocol: "ollama",
    body: { model: "chat-v1:latest", keep_alive: -1 },
  });
  server.say(
    { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
    { text: worked("It says 4.") },
  );
  expect((await chat("/analyze a.txt")).out).toBe("It says 4.\n");
  expect(server.requests.at(-1)).toMatchObject({ protocol: "ollama", body: { model: "worker-v1:latest" } });
}, 300_000);

test("the whole request of a one-edit task stays under 6,000 bytes on the wire", async () => {
  cli.write("a.txt", "one\n");
  cli.write("README.md", "# demo\n");
  server.say(fix("one", "two"));
  await chat("/code3 change a.txt");
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]!.bytes).toBeLessThan(6_000);
});

test.each<[string, Fault]>([
  ["an answer that is cut", { kind: "cut", after: 4 }],
  ["an answer that ends early", { kind: "end-early", after: 4 }],
  ["a page of the hotel's network", { kind: "html" }],
  ["a refused key", { kind: "unauthorized" }],
  ["an unknown model", { kind: "unknown-model" }],
])("%s runs nothing and is told", async (_, fault) => {
  cli.write("a.txt", "one\n");
  server.say({
    ...fix("one", "two"),
    chunks: proposal("Change it", replace("a.txt", "one", "two")).match(/.{1,20}/gs) ?? [],
    fault,
  });
  const ran = await chat("/code3 change a.txt");
  expect(ran.code).toBe(3);
  expect(ran.out).toStartWith("Gin could not answer: ");
  expect(cli.tree()).toEqual({ "a.txt": "one\n" });
});

test("an overloaded server is asked again, a slow one is waited for, and one that finds the request too long gets less", async () => {
  cli.write("a.txt", "one\n");
  server.say({ fault: { kind: "status", status: 529, headers: { "retry-after": "0" } } }, fix("one", "two"));
  expect((await chat("/code3 change a.txt")).code).toBe(0);
  server.say({ ...fix("two", "three"), fault: { kind: "drip" } });
  expect((await chat("/code3 change a.txt")).code).toBe(0);
  const before = server.requests.length;
  for (let i = 0; i < 150; i++) cli.write(`src/module-${i}.ts`, `export const value${i} = ${i};\n`);
  server.say({ fault: { kind: "context-length" } }, fix("three", "four"));
  expect((await chat("/code3 change a.txt")).code).toBe(0);
  const [full, small] = server.requests.slice(before).map(({ bytes }) => bytes);
  expect(small!).toBeLessThan(full!);
  expect(cli.read("a.txt")).toBe("four\n");
});

test("a cloud model in a chat role is never asked", async () => {
  configure({ ...server.config(), roles: { chat: { provider: "claude", model: null } } });
  const ran = await chat("/chat hello");
  expect(ran.code).toBe(3);
  expect(ran.out).toContain("security.local_only");
  expect(server.requests).toEqual([]);
});

test("a local server that is down is named with what helps; a coder at another server is offered, one at the same is not", async () => {
  const down = { type: "openai-compatible", base_url: "http://127.0.0.1:9/v1", model: "tiny", local: true };
  const { providers } = server.config() as { providers: object };
  const here = { provider: "here", model: null };
  configure({ providers: { ...providers, here: down }, roles: { chat: here } });
  const other = await chat("/chat hello");
  expect(other.code).toBe(3);
  expect(other.out).toBe(
    "Mio could not answer: here (tiny) cannot be reached at 127.0.0.1:9: ECONNREFUSED\n" +
      "→ start the server, or choose another model: picoclaw init\n\n" +
      "Changing files works meanwhile: /code …\n",
  );
  configure({ providers: { ...providers, here: down }, roles: { chat: here, coder3: here } });
  expect((await chat("/chat hello")).out).toEndWith("choose another model: picoclaw init\n");
});

test("a message that was cut to fit is reported", async () => {
  server.say({ fault: { kind: "context-length" } }, { text: "Read." });
  expect((await chat(`/chat ${"word ".repeat(2_000)}`)).out).toBe(
    "Read.\n\nNote: your message was too long for this model. It read the beginning and the end, 8,000 characters in all.\n",
  );
  server.say({ fault: { kind: "context-length" } }, { text: worked("Looked.") });
  expect((await chat(`/analyze ${"word ".repeat(2_000)}`)).out).toContain(
    "It read the beginning and the end",
  );
  server.say({ fault: { kind: "context-length" } }, { text: proposal("p", "") });
  expect((await chat(`/code3 ${"word ".repeat(2_000)}`)).err).toContain("It read the beginning and the end");
});
