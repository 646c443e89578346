import { afterAll, beforeAll, expect, test } from "bun:test";
import { worked } from "../../application/chat/chat-kit.ts";
import { createServer, type Server } from "./web-kit.ts";

let server: Server;
let token: string;
const patch = (file: string) =>
  `## Plan\nWrite ${file}\n\n## Patch\n\`\`\`text:${file}\nx\n\`\`\`\n\n## Risk\nlow\n`;
beforeAll(async () => {
  server = await createServer({
    script: [
      { when: { role: "coder1" }, text: patch("by-aka.txt") },
      { when: { role: "coder2" }, text: patch("by-ao.txt") },
      { when: { role: "coder3" }, text: patch("by-gin.txt") },
      { when: { role: "worker" }, text: worked("looked at it") },
      { when: { role: "chat" }, text: "hello from Mio" },
    ],
  });
  token = server.token("--scope", "read,chat");
});
afterAll(() => server.close());

for (const [route, message, shown, file] of [
  ["CHAT", "/chat hi", "hello from Mio", null],
  ["ANALYZE", "/analyze it", "looked at it", null],
  ["CODE1", "/code1 write", "Write by-aka.txt", "by-aka.txt"],
  ["CODE2", "/code2 write", "Write by-ao.txt", "by-ao.txt"],
  ["CODE3", "/code3 write", "Write by-gin.txt", "by-gin.txt"],
] as const)
  test(`the web on ${route}: decided, answered, and done when it is a coder's`, async () => {
    const response = await fetch(`${server.url}/api/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ text: message, wait: 20 }),
    });
    const { reply } = (await response.json()) as {
      reply: { text: string; decision: { route: string }; jobs: unknown[] };
    };
    expect([reply.decision.route, reply.text.includes(shown), reply.jobs.length]).toEqual([
      route,
      true,
      file === null ? 0 : 1,
    ]);
    if (file !== null) expect(server.read(file)).toBe("x\n");
  }, 300_000);
