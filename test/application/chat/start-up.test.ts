import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { type ChatCli, createChatCli, proposal, worked } from "./chat-kit.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

const MAIN = join(import.meta.dir, "../../../src/main.ts");

/** The modules of node_modules and of our own heavier folders that a fresh process has loaded after one message. */
async function loadedBy(message: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const script = `
    process.argv = ["bun", "picoclaw", "chat", ${JSON.stringify(message)}];
    process.on("exit", () => {
      const files = Object.keys(require.cache);
      const names = files.flatMap((file) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)|(src\\/tools\\/registry|src\\/adapters\\/cli\\/terminal|src\\/infrastructure\\/containers)/.exec(file)?.slice(1) ?? []);
      console.error("loaded:" + JSON.stringify([...new Set(names.filter(Boolean))].sort()));
    });
    await import(${JSON.stringify(MAIN)});`;
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", script], {
    cwd: cli.workspace,
    env: { PATH: process.env.PATH ?? "", HOME: cli.folder, PICOCLAW_HOME: cli.home, ...env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const said = await new Response(child.stderr).text();
  return JSON.parse(/loaded:(.*)/.exec(said)?.[1] ?? "null") as string[];
}

test("a coder's message loads no toolkit, no schema library and no protocol that it does not speak", async () => {
  cli = createChatCli([
    { when: { role: "coder3" }, text: proposal("Write it", "```txt:a.txt\nx\n```") },
    { when: { role: "worker" }, text: worked("Done.") },
  ]);
  const coder = await loadedBy("/code3 write a.txt");
  expect(cli.read("a.txt")).toBe("x\n");
  expect(coder).toEqual(["kysely", "yaml"]);
  expect(await loadedBy("/ops look")).toEqual(expect.arrayContaining(["zod", "src/tools/registry"]));
});

test("the local server is asked which models it has when one of them is to answer, and not before", async () => {
  cli = createChatCli([{ when: { role: "coder3" }, text: proposal("Write it", "```txt:a.txt\nx\n```") }]);
  const asked: string[] = [];
  const ollama = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const { model } = (await request.json().catch(() => ({}))) as { model?: string };
      asked.push([pathname, model].filter(Boolean).join(" "));
      return pathname === "/api/tags"
        ? Response.json({ models: [{ name: "installed:8b" }] })
        : new Response("", { status: 404 });
    },
  });
  const env = {
    PICOCLAW_OLLAMA_BASE_URL: `http://127.0.0.1:${ollama.port}`,
    PICOCLAW_ROLES_CHAT_PROVIDER: "ollama",
    PICOCLAW_ROLES_WORKER_PROVIDER: "ollama",
  };
  try {
    await loadedBy("/code3 write a.txt", env);
    expect(cli.read("a.txt")).toBe("x\n");
    expect(asked).toEqual([]);
    await loadedBy("/chat hello", env);
    expect(asked[0]).toBe("/api/tags");
    expect(asked).toContain("/api/chat installed:8b");
  } finally {
    await ollama.stop(true);
  }
});
