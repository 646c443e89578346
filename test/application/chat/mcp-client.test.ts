import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { trustWorkspace } from "../../../src/config/trust.ts";
import { until } from "../../e2e/cli-kit.ts";
import { proposal, worked } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const CHILD = join(import.meta.dir, "mcp-server-child.ts");
const sums = `sums: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(CHILD)}], env: { SUMS_TOKEN: "env:SUMS_SECRET" } }`;

test("tools of MCP servers are Shiro's too; a server that does not start and a call that fails do not stop the rest", async () => {
  at = await openConversation(
    (_, turn) =>
      turn === 0
        ? {
            calls: [
              { name: "sums_add", arguments: { a: 2, b: 3 } },
              { name: "sums_fail", arguments: {} },
              { name: "sums_where", arguments: {} },
            ],
          }
        : worked("Five."),
    {
      locale: "ja",
      config: `mcp_servers:\n  ${sums}\n  broken: { command: /no/such/program }\n`,
      env: { SUMS_SECRET: "swordfish-swordfish", OTHER_API_KEY: "not-for-servers" },
    },
  );
  const reply = await at.send("/research 2 + 3");
  expect(at.asked[0]?.tools?.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["read_file", "sums_add", "sums_fail", "sums_a_b_c"]),
  );
  expect(at.asked[0]?.system).toContain("- sums_add\n");
  const results = at.asked[1]?.messages.filter(({ role }) => role === "tool").map(({ text }) => text) ?? [];
  expect(results[0]).toBe("5");
  expect(results[1]).toBe("fail did not work");
  const seen = JSON.parse(results[2] ?? "") as { cwd: string; env: Record<string, string> };
  expect(seen.cwd).toBe(at.workspace);
  expect(seen.env.OTHER_API_KEY).toBeUndefined();
  // It got its key, and the model did not see it.
  expect(seen.env.SUMS_TOKEN).toContain("*");
  expect(reply.ok).toBe(false);
  expect(reply.text).toBe(
    "Five.\n\n適用済み、1 件のコマンドが失敗 (2/3 コマンド成功). 失敗: sums_fail: fail did not work\nブラウザ操作と外部サービスへの影響は取り消せません。",
  );
  const notices = at.events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
  expect(notices).toEqual([expect.stringMatching(/^MCP サーバー broken は使えません: /)]);
});

test("a server by its address works the same", async () => {
  const server = Bun.spawn([process.execPath, CHILD, "--http"], { stdout: "pipe", stderr: "inherit" });
  try {
    const { value } = await server.stdout.getReader().read();
    const url = new TextDecoder().decode(value).trim();
    at = await openConversation(
      (_, turn) =>
        turn === 0 ? { calls: [{ name: "far_add", arguments: { a: 20, b: 22 } }] } : worked("Done."),
      { config: `mcp_servers:\n  far: { url: "${url}" }\n` },
    );
    expect((await at.send("/ops add")).ok).toBe(true);
    expect(at.asked[1]?.messages.at(-1)).toMatchObject({ role: "tool", name: "far_add", text: "42" });
  } finally {
    server.kill();
  }
});

test("servers stay up for the next message of their chat, each chat has its own, and one that died is restarted", async () => {
  const seen: number[] = [];
  at = await openConversation(
    ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role !== "tool") return { calls: [{ name: "sums_where", arguments: {} }] };
      seen.push((JSON.parse(last.text) as { pid: number }).pid);
      return worked("ok");
    },
    { config: `mcp_servers:\n  ${sums}\n` },
  );
  await at.send("/ops one");
  await at.send("/ops two");
  await at.send("/ops three", { channel: "slack", chatId: "C1" });
  const [first, second, third] = seen as [number, number, number];
  expect(second).toBe(first);
  expect(third).not.toBe(first);
  process.kill(first, "SIGKILL");
  // Its entry goes when this process has heard of its end.
  await until(() => !existsSync(`/proc/${first}`));
  await at.send("/ops four");
  expect(seen[3]).not.toBe(first);
  const pids = [...seen];
  await at.close();
  await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  at = await openConversation(() => worked("ok"));
});

test("no server is started for a message that needs none, or in dry mode", async () => {
  at = await openConversation(({ role }) => (role === "chat" ? "Hello." : worked("Nothing.")), {
    config: "mcp_servers:\n  broken: { command: /no/such/program }\n",
  });
  await at.send("/chat hello");
  await at.send("/dry on");
  await at.send("/ops look");
  expect(at.events.filter(({ type }) => type === "notice")).toEqual([]);
});

test("in dry mode Shiro's tools write nothing", async () => {
  at = await openConversation((_, turn) =>
    turn === 0
      ? {
          calls: [
            { name: "write_file", arguments: { path: "a.txt", content: "x" } },
            { name: "execute_command", arguments: { command: "touch b.txt" } },
            { name: "tree", arguments: {} },
          ],
        }
      : worked("Tried."),
  );
  await at.send("/dry on");
  await at.send("/ops write a.txt");
  const results = at.asked[1]?.messages.filter(({ role }) => role === "tool").map(({ text }) => text) ?? [];
  expect(results[0]).toContain("WRITE_DENIED");
  expect(results[1]).toContain("WRITE_DENIED");
  expect(results[2]).not.toContain("DENIED");
  expect(at.tree()).toEqual({});
});

test("/preview of a route that is not a coder's changes nothing", async () => {
  at = await openConversation(() => worked("no"));
  const reply = await at.send("/preview /ops write a.txt");
  expect(reply).toMatchObject({ ok: false, jobs: [] });
  expect(at.asked).toEqual([]);
});

describe("uses_browser", () => {
  const browser = sums.replace("sums:", "browser:");
  const flagged = proposal("Look at the page", "```txt:a.txt\nx\n```", {
    more: "\n## Flags\nuses_browser: true\n",
  });

  test("continues with the browser's tools alone after the patch, and keeps the calls in the job's journal", async () => {
    at = await openConversation(
      ({ role }, turn) =>
        role === "coder3"
          ? flagged
          : turn === 0
            ? { calls: [{ name: "browser_add", arguments: { a: 1, b: 1 } }] }
            : worked("Two."),
      { config: `mcp_servers:\n  ${browser}\n` },
    );
    const reply = await at.send("/code3 open the page");
    expect(reply.ok).toBe(true);
    expect(reply.text).toMatch(
      /^Applied: 1 file, NOT CHECKED.*Two\..*Applied \(1\/1 commands succeeded\).*cannot be undone/s,
    );
    expect(at.of("coder3")[0]?.system).toContain("uses_browser");
    expect(at.of("worker")[0]?.tools?.every(({ name }) => name.startsWith("browser_"))).toBe(true);
    expect(at.of("worker")[0]?.messages[0]?.text).toBe("open the page\n\nPlan:\nLook at the page");
    const notes = at.archive.events(reply.jobs[0]?.job_id ?? "").map(({ event }) => event);
    expect(notes).toContainEqual({ type: "note", text: "mcp browser_add succeeded (not undoable): 2" });
    expect((await at.send("/undo")).ok).toBe(true);
    expect(at.tree()).toEqual({});
  });

  test("a browser that does not start is reported; the patch stays", async () => {
    at = await openConversation(() => flagged, {
      config: "mcp_servers:\n  browser: { command: /no/such/browser }\n",
    });
    const reply = await at.send("/code3 open the page");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("MCP server browser cannot be used");
    expect(at.tree()).toEqual({ "a.txt": "x\n" });
  });

  test("a preview and dry mode drive no browser", async () => {
    at = await openConversation(() => flagged, {
      config: "mcp_servers:\n  browser: { command: /no/such/browser }\n",
    });
    expect((await at.send("/preview open the page")).ok).toBe(true);
    await at.send("/dry on");
    expect((await at.send("/code3 open the page")).ok).toBe(true);
  });
});

describe("a server of the project's .mcp.json", () => {
  const put = (server: object) => at.write(".mcp.json", JSON.stringify({ mcpServers: { sums: server } }));
  const trust = () => trustWorkspace({ home: at.home, workspace: at.workspace, now: new Date() });
  const notices = () => at.events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
  const server = {
    command: process.execPath,
    args: [CHILD],
    env: { SUMS_TOKEN: `\${SUMS_SECRET}`, SUMS_NAME: `\${SUMS_NAME:-nobody}`, SUMS_UNSET: `\${NOT_SET}` },
  };
  const where = { calls: [{ name: "sums_where", arguments: {} }] };

  test("is started once the folder is trusted with that file, with the variables that it names", async () => {
    at = await openConversation(
      ({ messages, tools }) =>
        messages.at(-1)?.role !== "tool" && tools?.some(({ name }) => name === "sums_where")
          ? where
          : worked("ok"),
      { env: { SUMS_SECRET: "swordfish-swordfish" } },
    );
    put(server);
    await at.send("/ops look");
    expect(notices()).toEqual(["MCP server .mcp.json cannot be used: picoclaw trust"]);
    trust();
    await at.send("/ops look");
    const result = at.asked.at(-1)?.messages.at(-1)?.text ?? "";
    const { env } = JSON.parse(result) as { env: Record<string, string> };
    expect([env.SUMS_TOKEN?.includes("*"), env.SUMS_NAME, env.SUMS_UNSET]).toEqual([
      true,
      "nobody",
      undefined,
    ]);
    put({ ...server, args: [CHILD, "other"] });
    const before = at.asked.length;
    await at.send("/ops look");
    expect(at.asked[before]?.tools?.some(({ name }) => name.startsWith("sums_"))).toBe(false);
  });

  test.each([
    ["no JSON", "{", ".mcp.json cannot be used: mcpServers?"],
    ["an entry of neither kind", '{"mcpServers":{"odd":{}}}', "odd cannot be used: .mcp.json: command? url?"],
    [
      "a program behind a variable that is not set",
      `{"mcpServers":{"odd":{"command":"\${NOT_SET}/x"}}}`,
      "odd cannot be used: NOT_SET is not set",
    ],
  ])("%s is reported and stops nothing", async (_, text, notice) => {
    at = await openConversation(() => worked("ok"));
    at.write(".mcp.json", text);
    trust();
    expect((await at.send("/ops look")).ok).toBe(true);
    expect(notices()).toEqual([`MCP server ${notice}`]);
  });
});

describe("a coder", () => {
  const config = (coders: string) =>
    `security: { local_only: false }\nmcp_servers:\n  ${sums.slice(0, -2)}, coders: ${coders} }\n`;
  const coderTools = () => at.asked[0]?.tools?.map(({ name }) => name) ?? [];

  test("calls the tools that a server calls read-only, reads long results in pages, and the reply says so", async () => {
    const calls = [
      {
        calls: [
          { name: "sums_add", arguments: { a: 2, b: 3 } },
          { name: "sums_long", arguments: {} },
        ],
      },
      { calls: [{ name: "more_result", arguments: { result: 2, from: 8_001 } }] },
      { calls: [{ name: "sums_fail", arguments: {} }] },
    ];
    at = await openConversation((_, n) => calls[n] ?? proposal("Write", "```txt:a.txt\n5\n```"), {
      local: false,
      config: config("read-only"),
    });
    const reply = await at.send("/code3 write the sum");
    expect(reply).toMatchObject({ ok: true });
    expect(coderTools()).toEqual(
      expect.arrayContaining(["read_file", "sums_add", "sums_long", "more_result"]),
    );
    expect(coderTools()).not.toContain("sums_fail");
    const results =
      at.asked
        .at(-1)
        ?.messages.filter(({ role }) => role === "tool")
        .map(({ text }) => text) ?? [];
    expect(results[0]).toBe("5");
    expect(results[1]).toMatch(
      /^line 0\n[\s\S]*\(characters 1-8000 of \d+; more_result \{"result": 2, "from": 8001\} shows more\)$/,
    );
    expect(results[2]?.startsWith((results[1] ?? "").slice(0, 20))).toBe(false);
    expect(results[2]).toContain("(characters 8001-16000 of");
    expect(results[3]).toContain("there is no tool sums_fail");
    expect(reply.text).toContain("MCP tools called: sums_add, sums_long.");
  });

  test.each([
    ["all", true],
    ["off", false],
  ])("is offered the others only by the configuration's word: %s", async (coders, offered) => {
    at = await openConversation(() => proposal("Write", "```txt:a.txt\nx\n```"), {
      local: false,
      config: config(coders),
    });
    await at.send("/code3 write");
    expect([coderTools().includes("sums_fail"), coderTools().includes("sums_add")]).toEqual([
      offered,
      offered,
    ]);
  });

  test("that is local, or works in a preview, starts no server", async () => {
    const broken = "security: { local_only: false }\nmcp_servers:\n  broken: { command: /no/such/program }\n";
    at = await openConversation(() => proposal("Write", "```txt:a.txt\nx\n```"), {
      local: true,
      config: broken,
    });
    await at.send("/code3 write");
    expect(at.events.filter(({ type }) => type === "notice")).toEqual([]);
    await at.close();
    at = await openConversation(() => proposal("Write", "```txt:a.txt\nx\n```"), {
      local: false,
      config: broken,
    });
    await at.send("/preview write");
    expect(at.events.some((event) => event.type === "notice" && event.text.includes("broken"))).toBe(false);
  });
});

test("an address is asked with its headers, whose secrets stay references", async () => {
  const server = Bun.spawn([process.execPath, CHILD, "--http"], {
    stdout: "pipe",
    stderr: "inherit",
    env: { ...process.env, SUMS_HEADER: "Bearer swordfish-swordfish" },
  });
  try {
    const { value } = await server.stdout.getReader().read();
    const url = new TextDecoder().decode(value).trim();
    at = await openConversation(
      (_, n) => (n === 0 ? { calls: [{ name: "far_add", arguments: { a: 20, b: 22 } }] } : worked("Done.")),
      {
        config: `mcp_servers:\n  far: { url: "${url}", headers: { X-Token: "Bearer \${SUMS_SECRET}" } }\n`,
        env: { SUMS_SECRET: "swordfish-swordfish" },
      },
    );
    await at.send("/ops add");
    expect(at.asked[1]?.messages.at(-1)).toMatchObject({ role: "tool", text: "42" });
    const literal = openConversation(() => "", {
      config: `mcp_servers:\n  far: { url: "${url}", headers: { X-Token: "Bearer swordfish" } }\n`,
    });
    expect(await literal.catch((error: Error) => error.message)).toContain("mcp_servers.far.headers.X-Token");
  } finally {
    server.kill();
  }
});
