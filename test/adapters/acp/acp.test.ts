import { afterEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type McpServer, methods } from "@agentclientprotocol/sdk";
import { proposal, worked } from "../../application/chat/chat-kit.ts";
import { startModelServer } from "../../fakes/model-server/server.ts";
import { PNG_BASE64 } from "../../fakes/pictures.ts";
import { createEditor, type Editor } from "./acp-kit.ts";

let editor: Editor;
afterEach(() => editor.remove());

const { session } = methods.agent;
const coder = (patch: string) => ({ when: { role: "coder3" }, text: proposal("Do it", patch) });
const says = (text: string) => [{ type: "text" as const, text }];

test("an editor sends a prompt, sees the change as a difference of each file, and takes it back by a command", async () => {
  editor = createEditor([
    coder("```txt:a.txt\nnew\n```\n```txt:sub/b.txt\nmade\n```\n```bash\nrm gone.txt\n```"),
  ]);
  editor.write("a.txt", "old\n");
  editor.write("gone.txt", "here\n");
  const { agent, initialized } = await editor.start();
  expect(initialized).toMatchObject({ protocolVersion: 1, agentInfo: { name: "picoclaw" } });
  const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  const commands = await editor.until(() => editor.of("available_commands_update")[0]);
  expect(commands.availableCommands).toContainEqual({
    name: "undo",
    description: "undo the last change, or that job",
    input: { hint: "[job]" },
  });

  const prompt = says("/code3 change a.txt");
  expect(await agent.request(session.prompt, { sessionId, prompt })).toEqual({ stopReason: "end_turn" });
  expect(editor.tree()).toEqual({ "a.txt": "new\n", "sub/b.txt": "made\n" });
  const [begun] = editor.of("tool_call");
  const last = editor.of("tool_call_update").at(-1);
  expect(last?.toolCallId).toBe(begun?.toolCallId as string);
  expect(last).toMatchObject({ status: "completed", kind: "edit", rawOutput: { status: "applied" } });
  const inFolder = (path: string) => join(editor.workspace, path);
  expect(last?.content).toEqual([
    { type: "diff", path: inFolder("a.txt"), oldText: "old\n", newText: "new\n" },
    { type: "diff", path: inFolder("gone.txt"), oldText: "here\n", newText: "" },
    { type: "diff", path: inFolder("sub/b.txt"), oldText: null, newText: "made\n" },
  ]);
  expect(editor.words()).toContain("`/undo #1`");

  await agent.request(session.prompt, { sessionId, prompt: says(`/undo ${last?.toolCallId}`) });
  expect(editor.tree()).toEqual({ "a.txt": "old\n", "gone.txt": "here\n" });
  expect(editor.asked).toEqual([]);
});

test("words are streamed once, a mentioned file is named by its path, and a session continues after a restart", async () => {
  editor = createEditor([
    { when: { role: "chat", message: "/look at src\\/a.ts \\(L1:3\\)$/" }, chunks: ["Hel", "lo"] },
    { when: { role: "chat", turn: 2 }, text: ", as I said." },
    { when: { role: "chat" }, text: "who are you?" },
  ]);
  const first = await editor.start();
  const { sessionId } = await first.agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  const uri = `file://${editor.workspace}/src/a.ts#L1:3`;
  const prompt = [...says("/chat look at "), { type: "resource_link" as const, name: "a.ts", uri }];
  await first.agent.request(session.prompt, { sessionId, prompt });
  expect(editor.words()).toBe("Hello");
  first.process.stdin.end();
  expect(await first.ended).toBe(0);

  const second = await editor.start();
  await second.agent.request(session.resume, { sessionId, cwd: editor.workspace, mcpServers: [] });
  await second.agent.request(session.prompt, { sessionId, prompt: says("/chat again?") });
  expect(editor.words()).toBe("Hello, as I said.");
});

test("cancel ends what runs and takes it back", async () => {
  editor = createEditor([coder("```bash\ntouch made; echo begun; sleep 300\n```")]);
  const { agent } = await editor.start();
  const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  const answered = agent.request(session.prompt, { sessionId, prompt: says("/code3 wait") });
  await editor.until(() =>
    editor.of("tool_call_update").find(({ content }) => JSON.stringify(content ?? "").includes("begun")),
  );
  await agent.notify(session.cancel, { sessionId });
  expect(await answered).toEqual({ stopReason: "cancelled" });
  expect(editor.tree()).toEqual({});
});

test("a job of another session of the editor can be undone", async () => {
  editor = createEditor([coder("```txt:a.txt\nnew\n```")]);
  const { agent } = await editor.start();
  const begin = async () =>
    (await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] })).sessionId;
  await agent.request(session.prompt, { sessionId: await begin(), prompt: says("/code3 write a.txt") });
  const [job] = editor.of("tool_call");
  expect(editor.read("a.txt")).toBe("new\n");
  const prompt = says(`/undo ${job?.toolCallId}`);
  await agent.request(session.prompt, { sessionId: await begin(), prompt });
  expect(editor.tree()).toEqual({});
});

test.each(["closes its pipes", "is killed"])(
  "an editor that %s leaves nothing half done, and the program ends",
  async (how) => {
    editor = createEditor([coder("```bash\ntouch made; echo begun; sleep 300\n```")]);
    const { agent, process, ended } = await editor.start();
    const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
    agent.request(session.prompt, { sessionId, prompt: says("/code3 wait") }).catch(() => {});
    await editor.until(() =>
      editor.of("tool_call_update").find(({ content }) => JSON.stringify(content ?? "").includes("begun")),
    );
    if (how === "is killed") process.stdout.destroy();
    process.stdin.end();
    expect(await ended).toBe(0);
    expect(editor.tree()).toEqual({});
  },
);

test("what cannot be served is refused with the reason, and the session of another one is unknown", async () => {
  editor = createEditor([]);
  const { agent } = await editor.start(["--workspace", editor.workspace]);
  const elsewhere = agent.request(session.new, { cwd: editor.folder, mcpServers: [] });
  await expect(elsewhere).rejects.toThrow(`only ${editor.workspace} is served`);
  const relative = agent.request(session.new, { cwd: "here", mcpServers: [] });
  await expect(relative).rejects.toThrow("cwd is not an absolute path");
  const unknown = agent.request(session.prompt, { sessionId: "none", prompt: says("hello") });
  await expect(unknown).rejects.toThrow("not found");
  const bad = { sessionId: "../up", cwd: editor.workspace, mcpServers: [] };
  await expect(agent.request(session.resume, bad)).rejects.toThrow("Invalid params");
});

test("the settings in the docs start the agent", async () => {
  editor = createEditor([]);
  const page = readFileSync(join(import.meta.dir, "../../../docs/acp.md"), "utf8");
  const blocks = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = ""]) => JSON.parse(json));
  expect(blocks.map(({ agent_servers: { PicoClaw } }) => [PicoClaw.command, ...PicoClaw.args])).toEqual([
    ["picoclaw", "acp"],
    ["picoclaw", "acp"],
  ]);
  expect(editor.run(["acp", "--help"])).toMatchObject({ code: 0 });
});

test("a line that is not a message is answered, and the next one is read", async () => {
  editor = createEditor([]);
  const { process, agent } = await editor.start();
  process.stdin.write("nonsense\n[]\n{}\n");
  const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  expect(sessionId).toMatch(/^[0-9a-f]{18}$/);
});

test("an image of a prompt reaches the model that sees, and what no model takes is refused", async () => {
  const server = await startModelServer({ script: [{ text: "A red pixel.\nNo change: a question" }] });
  try {
    editor = createEditor([]);
    const blind = { roles: { coder1: { provider: "deepseek", model: "deepseek-v4-pro" } } };
    writeFileSync(join(editor.home, "config.yaml"), JSON.stringify({ ...server.config(), ...blind }));
    const { agent, initialized } = await editor.start();
    expect(initialized).toMatchObject({ agentCapabilities: { promptCapabilities: { image: true } } });
    const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
    const image = { type: "image" as const, mimeType: "image/png", data: PNG_BASE64 };
    for (const command of ["/code3", "/code2"])
      await agent.request(session.prompt, {
        sessionId,
        prompt: [...says(`${command} what is this?`), image],
      });
    expect(editor.words()).toContain("A red pixel.");
    const [claude, openai] = server.requests;
    expect(claude).toMatchObject({
      protocol: "anthropic",
      body: {
        messages: [
          { content: [{ type: "image", source: { media_type: "image/png", data: PNG_BASE64 } }, {}] },
        ],
      },
    });
    expect(openai).toMatchObject({
      protocol: "openai-responses",
      body: {
        input: [{ content: [{ type: "input_image", image_url: `data:image/png;base64,${PNG_BASE64}` }, {}] }],
      },
    });
    await agent.request(session.prompt, { sessionId, prompt: [...says("/code1 what is this?"), image] });
    expect(editor.words()).toContain("deepseek (deepseek-v4-pro) cannot read images. Nothing was sent");
    expect(server.requests.length).toBe(2);
    const text = { ...image, data: Buffer.from("hello").toString("base64") };
    const refused = agent.request(session.prompt, { sessionId, prompt: [...says("/code3 this?"), text] });
    expect(await refused.catch((error: Error) => error.message)).toContain("not an image");
  } finally {
    await server.stop();
  }
}, 300_000);

test("sessions are listed and loaded with their messages, and an unknown one is refused", async () => {
  editor = createEditor([{ when: { role: "chat" }, text: "Hello." }]);
  const first = await editor.start();
  expect(first.initialized).toMatchObject({
    agentCapabilities: {
      loadSession: true,
      mcpCapabilities: { http: true },
      sessionCapabilities: { list: {} },
    },
  });
  const place = { cwd: editor.workspace, mcpServers: [] as McpServer[] };
  const { sessionId } = await first.agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  expect(await first.agent.request(session.list, { cwd: editor.workspace })).toEqual({ sessions: [] });
  await first.agent.request(session.prompt, { sessionId, prompt: says("/chat who are you?\nsay") });
  expect(editor.of("session_info_update")).toMatchObject([{ title: "/chat who are you?" }]);
  first.process.stdin.end();
  await first.ended;

  const { agent } = await editor.start();
  const { sessions } = await agent.request(session.list, { cwd: editor.workspace });
  expect(sessions).toMatchObject([
    { sessionId, cwd: editor.workspace, title: expect.stringContaining("who are you?") },
  ]);
  editor.updates.length = 0;
  await agent.request(session.load, { ...place, sessionId });
  const replayed = editor.updates.flatMap(({ update }) =>
    "content" in update && "text" in (update.content as object)
      ? [[update.sessionUpdate, (update.content as { text: string }).text]]
      : [],
  );
  expect(replayed).toEqual([
    ["user_message_chunk", "who are you?\nsay"],
    ["agent_message_chunk", "Hello."],
  ]);
  for (const method of [session.load, session.resume]) {
    const refused = agent.request(method, { ...place, sessionId: "never-there" });
    expect(await refused.then(() => "taken").catch((error: { code: number }) => error.code)).toBe(-32002);
  }
}, 300_000);

test("a job is shown with kinds, places and plan; modes and the editor's MCP servers hold for a session", async () => {
  const child = join(import.meta.dir, "../../application/chat/mcp-server-child.ts");
  editor = createEditor([
    { when: { role: "worker", step: 1 }, tool_calls: [{ name: "sums_add", arguments: { a: 40, b: 2 } }] },
    { when: { role: "worker" }, text: worked("It is 42.") },
    {
      when: { role: "coder3" },
      text: proposal("1. Write it\n2. Look", "```txt:sub/a.txt\nnew\n```\n```bash\ntrue\n```"),
    },
  ]);
  const { agent } = await editor.start();
  const server: McpServer = { name: "sums", command: process.execPath, args: [child], env: [] };
  const opened = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [server] });
  const { sessionId } = opened;
  expect(opened.modes).toMatchObject({
    currentModeId: "auto",
    availableModes: [{ id: "auto" }, { id: "preview" }, { id: "plan" }],
  });
  await agent.request(session.prompt, { sessionId, prompt: says("/ops add") });
  expect(editor.words()).toContain("It is 42.");
  await agent.request(session.setMode, { sessionId, modeId: "preview" });
  await agent.request(session.prompt, { sessionId, prompt: says("write it") });
  expect(editor.tree()).toEqual({});
  expect(editor.of("plan")[0]?.entries.map(({ content }) => content)).toEqual(["Write it", "Look"]);
  const path = join(editor.workspace, "sub/a.txt");
  expect(editor.of("tool_call_update")).toContainEqual(
    expect.objectContaining({ kind: "edit", locations: [{ path }], title: "file_edit update sub/a.txt" }),
  );
  expect(editor.of("tool_call_update")).toContainEqual(expect.objectContaining({ kind: "execute" }));
  const wrong = agent.request(session.setMode, { sessionId, modeId: "nonsense" });
  expect(await wrong.then(() => "taken").catch((error: { code: number }) => error.code)).toBe(-32602);
}, 300_000);

test("a session has the coder's models to choose from, and the chosen one answers", async () => {
  editor = createEditor([coder("")]);
  const { agent } = await editor.start();
  const { sessionId, configOptions } = await agent.request(session.new, {
    cwd: editor.workspace,
    mcpServers: [],
  });
  expect(configOptions).toMatchObject([
    { id: "model", category: "model", type: "select", currentValue: "demo/demo" },
  ]);
  const set = (value: string) =>
    agent.request(session.setConfigOption, { sessionId, configId: "model", value });
  await expect(set("no/such")).rejects.toThrow();
  expect((await set("default")).configOptions).toMatchObject([{ currentValue: "demo/demo" }]);
  // Choosing says nothing in the chat: it stays one in which nothing was said.
  expect((await agent.request(session.list, { cwd: editor.workspace })).sessions).toEqual([]);
});

test("after a reply the editor knows how full the model's window is", async () => {
  editor = createEditor([{ when: { role: "chat" }, text: "Hello", usage: { input: 120, output: 30 } }]);
  writeFileSync(
    join(editor.home, "models.json"),
    JSON.stringify({ dated: "2026-03-01", models: { demo: { context: 1000 } } }),
  );
  const { agent } = await editor.start();
  const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  await agent.request(session.prompt, { sessionId, prompt: says("/chat hello") });
  expect(await editor.until(() => editor.of("usage_update")[0])).toMatchObject({ used: 150, size: 1000 });
});

test("unsaved text of a mentioned file is included, and the editor is asked for no other file", async () => {
  editor = createEditor([
    { when: { role: "chat", message: "/not saved[^]*new words/" }, text: "I see it." },
    { when: { role: "chat" }, text: "I see the disk." },
  ]);
  editor.write("a.txt", "old words\n");
  editor.write("b.txt", "same\n");
  const path = (name: string) => join(editor.workspace, name);
  editor.unsaved.set(path("a.txt"), "new words\n");
  editor.unsaved.set(path("b.txt"), "same\n");
  const { agent } = await editor.start();
  const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  const about = (name: string) => [
    { type: "text" as const, text: "/chat look at " },
    { type: "resource_link" as const, name, uri: `file://${path(name)}` },
  ];
  for (const name of ["a.txt", "b.txt", "c.txt"])
    await agent.request(session.prompt, { sessionId, prompt: about(name) });
  expect(editor.words().match(/I see (it|the disk)\./g)).toEqual([
    "I see it.",
    "I see the disk.",
    "I see the disk.",
  ]);
});

test("why is offered, and answers for a line that the editor names or links", async () => {
  editor = createEditor([coder("```txt:src/a.ts\none\ntwo\n```")]);
  const { agent } = await editor.start();
  const { sessionId } = await agent.request(session.new, { cwd: editor.workspace, mcpServers: [] });
  const offered = await editor.until(() => editor.of("available_commands_update")[0]);
  expect(offered.availableCommands.find(({ name }) => name === "why")).toMatchObject({
    input: { hint: "[FILE:LINE|removed text]" },
  });
  await agent.request(session.prompt, { sessionId, prompt: says("/code3 write two lines into a.ts") });
  await agent.request(session.prompt, { sessionId, prompt: says("/why src/a.ts:2") });
  const uri = `file://${editor.workspace}/src/a.ts#L2`;
  const link = [...says("/why "), { type: "resource_link" as const, name: "a.ts", uri }];
  await agent.request(session.prompt, { sessionId, prompt: link });
  const [, one, other] = editor.words().split("src/a.ts:2: two");
  expect(one).toContain("write two lines into a.ts");
  expect(one).toContain("By: Gin (");
  expect(other).toContain("write two lines into a.ts");
});
