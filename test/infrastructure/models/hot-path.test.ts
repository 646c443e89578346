import { expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../fakes/model-server/server.ts";
import { makeTestFolder } from "../../left-behind.ts";

const MAIN = join(import.meta.dir, "../../../src/main.ts");

test("one message with one edit loads no library but the store's", async () => {
  const text = "## Plan\nSay hello.\n\n## Patch\n```text:hello.txt\nhello\n```\n";
  const server = await startModelServer({ script: [{ text }] });
  const home = makeTestFolder("hot");
  mkdirSync(join(home, "ws"));
  const script = `
    process.argv.splice(1, process.argv.length, "main.ts", "chat", "/code3 say hello");
    process.on("exit", () => {
      const names = Object.keys(require.cache).flatMap((file) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(file)?.[1] ?? []);
      process.stderr.write(JSON.stringify([...new Set(names)]));
    });
    await import(${JSON.stringify(MAIN)});`;
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", script], {
    cwd: join(home, "ws"),
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      PICOCLAW_HOME: join(home, "own"),
      ANTHROPIC_API_KEY: "sk-none-at-all",
      PICOCLAW_PROVIDERS_CLAUDE_BASE_URL: server.url,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [libraries] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  expect(JSON.parse(libraries)).toEqual(["kysely"]);
  expect(readFileSync(join(home, "ws/hello.txt"), "utf8")).toBe("hello\n");
  expect(server.requests.length).toBe(1);
  expect(server.requests[0]?.bytes).toBeLessThan(6_000);
  await server.stop();
});
