/** The store as a whole: kept while serving, brought back, moved to Postgres, and what of one person is deleted. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer, type Server } from "../adapters/web/web-kit.ts";
import { startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";

let server: Server;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  server = await createServer({
    script: [
      { when: { message: "/hang$/" }, text: "late", delay_ms: 300_000 },
      { when: { role: "coder3" }, text: "## Plan\nx\n\n## Patch\n```text:a.txt\nx\n```\n\n## Risk\nlow\n" },
      { text: "re: {{message}}" },
    ],
  });
  for (const user of ["alice", "bob"])
    tokens[user] = server.token("--user", user, "--role", "user", "--scope", "read,chat");
  await say("alice", "hello from alice", 20);
  await say("alice", "/code3 write", 25);
  await say("bob", "hello from bob", 20);
  // One is in work and one waits behind it when the store is copied.
  await say("bob", "hang", 0);
  await say("bob", "waits", 0);
}, 300_000);
afterAll(() => server.close());

async function say(user: string, text: string, wait: number, url = server.url) {
  const response = await fetch(`${url}/api/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${tokens[user]}` },
    body: JSON.stringify({ text, wait }),
  });
  return (await response.json()) as { state: string; reply: { text: string } | null };
}

const texts = async (url: string, user: string) => {
  const response = await fetch(`${url}/api/v1/sessions/web/${user}`, {
    headers: { authorization: `Bearer ${tokens[user]}` },
  });
  const { messages = [] } = (await response.json()) as { messages?: { text: string; state: string }[] };
  return messages.map(({ text, state }) => `${text}: ${state}`);
};

/** The same program with another home. */
const elsewhere = (home: string) => ({ PICOCLAW_HOME: home });

test("a backup is made while the server works, and brings everything back into an empty home only", async () => {
  const folder = join(server.home, "../backup");
  const made = server.run(["backup", folder, "--json"]);
  expect(made.code).toBe(0);
  const { rows, undo_data: undoData } = JSON.parse(made.out) as { rows: number; undo_data: string[] };
  expect(rows).toBeGreaterThan(10);
  expect(undoData.length).toBe(1);
  expect(existsSync(join(folder, "config.yaml"))).toBe(true);
  expect(server.run(["backup", folder]).code).toBe(3);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);

  expect(server.run(["restore", folder]).err).toContain("the database is in use");
  const home = join(server.home, "../restored");
  mkdirSync(home);
  const restored = server.run(["restore", folder, "--json"], { env: elsewhere(home) });
  expect([restored.code, JSON.parse(restored.out)]).toEqual([0, { success: true, rows }]);
  // Waiting messages are there, and unclaimed.
  const again = join(server.home, "../again");
  expect(server.run(["backup", again], { env: elsewhere(home) }).code).toBe(0);
  for (const table of ["messages", "replies", "turns", "people", "api_tokens", "usage_entries"])
    expect(readFileSync(join(again, "store", `${table}.ndjson`), "utf8")).toBe(
      readFileSync(join(folder, "store", `${table}.ndjson`), "utf8"),
    );

  appendFileSync(join(folder, "store", "messages.ndjson"), "{}\n");
  const other = join(server.home, "../other");
  mkdirSync(other);
  expect(server.run(["restore", folder], { env: elsewhere(other) }).err).toContain("messages.ndjson");
  rmSync(join(folder, "manifest.json"));
  expect(server.run(["restore", folder], { env: elsewhere(other) }).code).toBe(3);
}, 300_000);

describe.if(requirePart("postgres"))("to Postgres", () => {
  test("the store is copied and compared, and what waited is answered there", async () => {
    const postgres = startPostgres();
    try {
      const url = postgres.newDatabase();
      expect(server.run(["db", "copy", "nowhere"]).code).toBe(2);
      const copied = server.run(["db", "copy", "env:TARGET", "--json"], { env: { TARGET: url } });
      expect([copied.code, copied.err]).toEqual([0, ""]);
      expect(server.run(["db", "copy", url]).err).toContain("the database is in use");
      await server.stop("SIGKILL");
      const config = readFileSync(join(server.home, "config.yaml"), "utf8");
      writeFileSync(join(server.home, "config.yaml"), `${config}database_url: env:TARGET\n`);
      writeFileSync(
        join(server.home, "script.json"),
        JSON.stringify({ answers: [{ text: "re: {{message}}" }] }),
      );
      const child = server.start(["serve", "--port", "0", "--json"], { TARGET: url });
      const line = await new Promise<string>((resolve) =>
        child.stdout?.once("data", (data) => resolve(String(data))),
      );
      const there = (JSON.parse(line) as { url: string }).url;
      const deadline = Date.now() + 120_000;
      for (;;) {
        const all = await texts(there, "bob");
        if (all.length === 3 && all.every((one) => one.endsWith(": done"))) break;
        if (Date.now() > deadline) throw new Error(all.join(", "));
        await Bun.sleep(100);
      }
      expect(await texts(there, "alice")).toEqual(["hello from alice: done", "/code3 write: done"]);
      const forgotten = server.run(["db", "forget", "web:alice", "--json"], { env: { TARGET: url } });
      expect([forgotten.code, (JSON.parse(forgotten.out) as { rows: number }).rows > 5]).toEqual([0, true]);
      expect((await texts(there, "bob")).length).toBe(3);
      expect((await say("alice", "who?", 0, there)).state).toBeUndefined();
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      const kept = join(server.home, "../kept");
      expect(server.run(["backup", kept], { env: { TARGET: url } }).code).toBe(0);
      for (const table of ["messages", "replies", "turns", "sessions", "decisions", "usage_entries"])
        expect([
          table,
          readFileSync(join(kept, "store", `${table}.ndjson`), "utf8").includes("alice"),
        ]).toEqual([table, false]);
    } finally {
      postgres.stop();
    }
  }, 300_000);
});
