/**
 * What real clients send, played to the program again, line by line. `acpx`, `claude-code` and `inspector` were recorded between
 * the client (acpx 0.1, Claude Code 2.1.197, MCP inspector 0.5.1) and this program; `zed` and `vscode` are written after the
 * sources of these editors. A line without a method is the client's answer to what the server asks.
 */
import { afterEach, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createChatCli, proposal } from "../application/chat/chat-kit.ts";
import { PROGRAM, until } from "../e2e/cli-kit.ts";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The answers of the server by method, in their order, and everything else that it sent. */
async function replay(recording: string, args: readonly string[]) {
  const patch = "```txt:a.txt\nnew\n```";
  const cli = createChatCli([
    { when: { role: "coder3" }, text: proposal("Do it", patch) },
    { when: { role: "chat" }, text: "It adds numbers." },
  ]);
  ends.push(() => cli.remove());
  cli.write("a.txt", "old\n");
  cli.write("rules.md", "Write new.\n");
  const env = { PATH: process.env.PATH ?? "", HOME: join(cli.folder, "user"), PICOCLAW_HOME: cli.home };
  const server = spawn(PROGRAM, args, { cwd: cli.workspace, env: { ...env, PICOCLAW_LOCALE: "en" } });
  const closed = new Promise<number | null>((resolve) => server.once("close", resolve));
  ends.push(() => {
    server.kill("SIGKILL");
    return closed;
  });
  const got: Message[] = [];
  const answers: { method: string; answer: Message }[] = [];
  const write = (line: string) => {
    const { sessionId = "" } =
      answers.findLast(({ answer }) => answer.result?.sessionId)?.answer.result ?? {};
    const filled = line.replaceAll("@WORKSPACE@", cli.workspace).replaceAll("@SESSION@", String(sessionId));
    server.stdin.write(`${filled}\n`);
  };
  const lines = readFileSync(join(import.meta.dir, "recorded", `${recording}.ndjson`), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => ({ line, sent: JSON.parse(line) as Message }));
  const given = lines.find(({ sent }) => sent.method === undefined)?.sent;
  const take = (message: Message) => {
    got.push(message);
    if (message.method !== undefined && message.id !== undefined)
      write(JSON.stringify({ ...given, id: message.id }));
  };
  let rest = "";
  server.stdout.on("data", (data) => {
    const whole = `${rest}${data}`.split("\n");
    rest = whole.pop() ?? "";
    for (const line of whole) take(JSON.parse(line) as Message);
  });
  for (const { line, sent } of lines) {
    if (sent.method === undefined) continue;
    write(line);
    if (sent.id === undefined) continue;
    const answer = await until(() => got.find(({ id, method }) => id === sent.id && method === undefined));
    answers.push({ method: sent.method, answer });
  }
  server.stdin.end();
  return { cli, answers, got, code: await closed };
}

const refused = (answers: Awaited<ReturnType<typeof replay>>["answers"]) =>
  answers.flatMap(({ method, answer }) =>
    answer.error === undefined ? [] : [`${method}: ${answer.error.message}`],
  );
const updates = (got: readonly Message[]) =>
  got.flatMap(({ method, params }) =>
    method === "session/update"
      ? [params?.update as { readonly sessionUpdate: string; readonly content?: { readonly text?: string } }]
      : [],
  );

test("acpx makes a session, sets its mode and has a question answered", async () => {
  const { answers, got, code } = await replay("acpx", ["acp"]);
  expect(refused(answers)).toEqual([]);
  expect(answers.at(-1)?.answer.result).toEqual({ stopReason: "end_turn" });
  const words = updates(got).map((one) =>
    one.sessionUpdate === "agent_message_chunk" ? one.content?.text : "",
  );
  expect(words.join("")).toStartWith("It adds numbers.");
  expect(code).toBe(0);
}, 300_000);

test("Zed mentions files in a prompt, sees the difference, and undoes it", async () => {
  const { cli, answers, got, code } = await replay("zed", ["acp"]);
  expect(refused(answers)).toEqual([]);
  expect(answers[0]?.answer.result).toMatchObject({
    protocolVersion: 1,
    agentCapabilities: { loadSession: true, promptCapabilities: { embeddedContext: true, image: true } },
  });
  expect(updates(got)).toContainEqual(
    expect.objectContaining({
      sessionUpdate: "tool_call_update",
      content: [{ type: "diff", path: join(cli.workspace, "a.txt"), oldText: "old\n", newText: "new\n" }],
    }),
  );
  expect(cli.tree()).toEqual({ "a.txt": "old\n", "rules.md": "Write new.\n" });
  // The editor offers a terminal and its file system for writing; a job is carried out by the executor alone.
  const asked = got.flatMap(({ method, id }) => (method !== undefined && id !== undefined ? [method] : []));
  expect(asked.filter((method) => method !== "fs/read_text_file")).toEqual([]);
  expect(code).toBe(0);
}, 300_000);

for (const recording of ["claude-code", "inspector", "vscode"])
  test(`${recording} finds the tools over MCP and calls one`, async () => {
    const { cli, answers, code } = await replay(recording, ["mcp"]);
    expect(refused(answers)).toEqual([]);
    const tools = answers.find(({ method }) => method === "tools/list")?.answer.result?.tools as {
      name: string;
    }[];
    expect(tools.map(({ name }) => name)).toContain("write_file");
    const called = answers.find(({ method }) => method === "tools/call")?.answer.result;
    expect(called).toMatchObject({ structuredContent: { changes: [{ path: "a.txt", kind: "modified" }] } });
    expect(cli.tree()["a.txt"]).toBe("new\n");
    expect(code).toBe(0);
  }, 300_000);
