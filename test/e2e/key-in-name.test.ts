import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createServer, type Server, signIn } from "../adapters/web/web-kit.ts";

/** In the form of a vendor's key; no such key exists. */
const KEY = `sk-ant-api03-${"Ab1".repeat(12)}`;

let server: Server;
beforeAll(async () => {
  const text = `## Plan\nWrite it\n\n## Patch\n\`\`\`text:${KEY}.txt\nhello\n\`\`\`\n\n## Risk\nlow\n`;
  server = await createServer({ script: [{ when: { role: "coder3" }, text } as never, { text: "ok" }] });
}, 300_000);
afterAll(() => server.close());

test("a key that is the name of a file is shown nowhere to people, and its job is undone by the real name", async () => {
  const send = async (body: object) => {
    const headers = { authorization: `Bearer ${server.token("--scope", "read,chat,jobs")}` };
    const init = { method: "POST", headers, body: JSON.stringify({ ...body, wait: 20 }) };
    return (await (await fetch(`${server.url}/api/v1/messages`, init)).json()) as { reply: { text: string } };
  };
  const ask = async (path: string) => {
    const headers = { authorization: `Bearer ${server.token("--scope", "read")}` };
    return (await fetch(`${server.url}/api/v1/${path}`, { headers })).json();
  };
  const made = await send({ text: "write it", route: "CODE3" });
  expect(existsSync(join(server.workspace, `${KEY}.txt`))).toBe(true);
  expect(made.reply.text).toContain("sk-ant-****");
  expect(made.reply.text).not.toContain(KEY);
  const browser = await signIn(server.login);
  expect(await browser.text("/chat")).not.toContain(KEY);
  const { jobs } = (await ask("jobs")) as { jobs: { job_id: string }[] };
  const job = `/jobs/${jobs[0]?.job_id}`;
  const why = `${job}/why?${new URLSearchParams({ path: `${KEY}.txt`, line: "1", side: "after" })}`;
  for (const page of [job, `${job}?view=split`, `${job}/diff?path=${KEY}.txt`, why]) {
    const text = await browser.text(page);
    expect(text).toContain("hello");
    // Links and forms use the real name.
    expect(text.replace(/ (href|value|data-[a-z]+|action)="[^"]*"/g, "")).not.toContain(KEY);
  }
  for (const words of ["/jobs", "/diff"]) expect((await send({ text: words })).reply.text).not.toContain(KEY);
  expect((await send({ text: "/undo" })).reply.text).not.toContain(KEY);
  expect(existsSync(join(server.workspace, `${KEY}.txt`))).toBe(false);
}, 300_000);
