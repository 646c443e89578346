/** A later version changes the store while this one runs. */
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createServer, type Server } from "../adapters/web/web-kit.ts";
import { until } from "./cli-kit.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 300_000);

/** The marks that `db migrate` of a later version leaves for others to see. */
function migrated(server: Server, name: string): void {
  const db = new DatabaseSync(join(server.home, "picoclaw.db"));
  db.exec("pragma busy_timeout = 5000");
  db.prepare("insert into migrations (name, applied_at) values (?, '2026-01-01')").run(name);
  db.close();
}

test("a process continues with a store that a later version only added to, and finishes and ends when that broke it", async () => {
  const server = await createServer({
    script: [
      { when: { message: "/slow$/" }, text: "slow answer", delay_ms: 6_000 },
      { text: "re: {{message}}" },
    ],
  });
  closing.push(server.close);
  const token = server.token("--user", "alice", "--role", "user", "--scope", "read,chat");
  const say = async (text: string, wait: number) => {
    const answer = await fetch(`${server.url}/api/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ text, wait }),
    });
    return (await answer.json()) as { message_id: string; reply: { text: string } | null };
  };
  migrated(server, "998-more-columns");
  await until(() => server.errors().includes("998-more-columns"));
  expect((await say("still there?", 25)).reply?.text).toContain("re: still there?");
  const { message_id: slow } = await say("slow", 0);
  const working = () => {
    const db = new DatabaseSync(join(server.home, "picoclaw.db"), { readOnly: true });
    const row = db.prepare("select state from messages where id = ?").get(slow) as { state: string };
    db.close();
    return row.state;
  };
  await until(() => working() === "working");
  const ended = server.ended();
  migrated(server, "999-less-columns-breaking");
  expect(await ended).toBe(0);
  expect(server.errors()).toContain("999-less-columns-breaking");
  expect(server.errors().match(/998-more-columns/g)).toHaveLength(1);
  // The message that ran when it was noticed was answered, not given back.
  expect(working()).toBe("done");
}, 300_000);
