/** Six scenarios of a day's use, through the real program. */
import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ChatCli, createChatCli, proposal, worked } from "../application/chat/chat-kit.ts";
import { requirePart } from "../require.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

const coder = (plan: string, patch: string, more = "") => ({
  when: { role: "coder3" },
  text: proposal(plan, patch, { more }),
});

test("1. CHAT → Mio → reply", () => {
  cli = createChatCli([{ when: { role: "chat" }, text: "こんにちは、Mio です。" }]);
  const ran = cli.chat("/chat こんにちは");
  expect(ran).toEqual({ code: 0, out: "こんにちは、Mio です。\n", err: "" });
  expect(cli.tree()).toEqual({});
});

test("2. CODE3 → Gin → carried out at once → reply", () => {
  cli = createChatCli([
    coder(
      "helper を作る",
      '```go:src/utils/helper.go\npackage utils\n\nfunc Helper() string {\n    return "helper"\n}\n```\n```bash\nls src/utils\n```',
    ),
  ]);
  const ran = cli.chat("/code3 ファイルを作成して", [], { PICOCLAW_LOCALE: "ja" });
  expect(ran.code).toBe(0);
  expect(ran.out).toContain("実行完了 (2/2 コマンド成功): 1 ファイル、チェックなし: ");
  expect(ran.out).toContain(
    "\n\n【Plan】コーダー自身の言葉です（結果ではありません）\nhelper を作る\n\n【実行結果】\n",
  );
  expect(ran.out).toContain("helper.go");
  expect(cli.read("src/utils/helper.go")).toContain("func Helper()");
});

test("a first program in a new folder of an empty repository lands and is undone", () => {
  cli = createChatCli([coder("Adds it", "```js:src/app.js\nconsole.log('hello world');\n```")]);
  cli.git("init", "-q");
  const ran = cli.chat("/code3 write a hello world in src/app.js");
  expect([ran.code, ran.err]).toEqual([0, ""]);
  expect(cli.tree()).toEqual({ "src/app.js": "console.log('hello world');\n" });
  expect(cli.run(["undo"]).code).toBe(0);
  expect([cli.tree(), existsSync(join(cli.workspace, "src"))]).toEqual([{}, false]);
});

test("3. auto_commit → commits before and after → success", () => {
  cli = createChatCli([coder("Write a", "```txt:a.txt\nnew\n```")], "worker: { auto_commit: true }\n");
  cli.git("init", "-q");
  cli.write("mine.txt", "uncommitted\n");
  const ran = cli.chat("/code3 write a.txt");
  expect(ran.code).toBe(0);
  const log = cli.git("log", "--format=%s").trim().split("\n");
  expect(log).toEqual(["[Worker Auto-Commit] After patch: Write a", "[Worker Auto-Commit] Before patch"]);
  expect(ran.out).toContain(cli.git("rev-parse", "HEAD").trim());
  expect(cli.chat("/undo").code).toBe(0);
  expect(cli.tree()).toEqual({ "mine.txt": "uncommitted\n" });
  expect(cli.git("status", "--porcelain")).toBe("?? mine.txt\n");
});

test("4. an edit of .env is an error, and with stop_on_error the rest does not run", () => {
  cli = createChatCli(
    [coder("Change the secret", "```env:.env\nTOKEN=new\n```\n```txt:after.txt\nx\n```")],
    "worker: { stop_on_error: true }\n",
  );
  cli.write(".env", "TOKEN=old\n");
  const ran = cli.chat("/code3 change .env");
  expect(ran.code).toBe(1);
  expect(ran.out).toContain("protected file cannot be modified: .env");
  expect(cli.tree()).toEqual({ ".env": "TOKEN=old\n" });
});

test("5. dry mode → what would run is logged and shown, nothing runs", () => {
  cli = createChatCli([coder("Write a", "```txt:a.txt\nx\n```\n```bash\ntouch b.txt\n```")]);
  const ran = cli.chat("/code3 write a.txt", [], { PICOCLAW_DRY_RUN: "true" });
  expect(ran.code).toBe(0);
  expect(ran.out).toContain("[1] file_edit update a.txt");
  expect(ran.out).toContain("[2] shell_command run touch b.txt");
  expect(cli.tree()).toEqual({});
  const log = readFileSync(join(cli.home, "logs/picoclaw.log"), "utf8");
  expect(log.split("\n").filter((line) => line.includes("worker.dry_run"))).toHaveLength(2);
});

const withBrowser = requirePart("chromium") && requirePart("node") ? test : test.skip;

withBrowser(
  "6. uses_browser → a real browser over MCP → success, journalled as not undoable",
  async () => {
    const seen: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        const { pathname } = new URL(request.url);
        seen.push(`${request.method} ${pathname}`);
        if (pathname === "/pressed") return new Response("ok");
        const page = `<title>Counter</title><button onclick="fetch('/pressed',{method:'POST'}).then(()=>this.textContent='Pressed')">Press me</button>`;
        return new Response(page, { headers: { "content-type": "text/html" } });
      },
    });
    // Its sockets lie in the temporary folder, under a name that another user of this machine may have taken.
    const scratch = mkdtempSync(join(tmpdir(), "pw-"));
    const mcp = join(dirname(require.resolve("@playwright/mcp/package.json")), "cli.js");
    const browser = ["chromium", "chromium-browser", "google-chrome"]
      .map((name) => Bun.which(name))
      .find(Boolean);
    const args = [mcp, "--headless", "--isolated", "--no-sandbox", "--executable-path", browser ?? ""];
    cli = createChatCli(
      [
        coder("Open the page and press the button", "", "\n## Flags\nuses_browser: true\n"),
        {
          when: { role: "worker", step: 0, message: "/(http:\\S+)/" },
          tool_calls: [{ name: "browser_browser_navigate", arguments: { url: "{{1}}" } }],
        },
        {
          when: { role: "worker", step: 1 },
          tool_calls: [
            {
              name: "browser_browser_evaluate",
              arguments: {
                function:
                  "async () => { document.querySelector('button').click(); await new Promise((r) => setTimeout(r, 100)); return document.querySelector('button').textContent; }",
              },
            },
          ],
        },
        {
          when: { role: "worker", step: 2 },
          tool_calls: [{ name: "browser_browser_navigate", arguments: { url: "not a url" } }],
        },
        { when: { role: "worker", step: 3 }, text: worked("The button says Pressed.") },
      ],
      `mcp_servers:\n  browser: { command: node, args: ${JSON.stringify(args)}, env: { TMPDIR: ${JSON.stringify(scratch)} } }\n`,
    );
    try {
      const ran = Bun.spawn(
        [
          join(import.meta.dir, "../../bin/picoclaw"),
          "chat",
          "--json",
          `/code3 press the button at http://127.0.0.1:${server.port}/`,
        ],
        {
          cwd: cli.workspace,
          env: {
            PATH: process.env.PATH ?? "",
            HOME: join(cli.folder, "user"),
            PICOCLAW_HOME: cli.home,
            PICOCLAW_LOCALE: "ja",
          },
          stdout: "pipe",
          stderr: "inherit",
        },
      );
      const reply = JSON.parse(await new Response(ran.stdout).text()) as {
        text: string;
        success: boolean;
        jobs: { job_id: string }[];
      };
      expect(await ran.exited).toBe(1);
      expect(reply.text).toContain("The button says Pressed.");
      expect(reply.text).toContain(
        "適用済み、1 件のコマンドが失敗 (2/3 コマンド成功). 失敗: browser_browser_navigate:",
      );
      expect(reply.text).toContain("取り消せません");
      expect(seen).toContain("GET /");
      expect(seen).toContain("POST /pressed");
      const shown = cli.json(cli.run(["show", reply.jobs[0]?.job_id ?? "", "--json"]));
      const notes = (shown.events as { event: { type: string; text?: string } }[]).filter(
        ({ event }) => event.type === "note",
      );
      expect(notes.map(({ event }) => event.text?.split(":")[0])).toEqual([
        "mcp browser_browser_navigate succeeded (not undoable)",
        "mcp browser_browser_evaluate succeeded (not undoable)",
        "mcp browser_browser_navigate failed (not undoable)",
      ]);
    } finally {
      await server.stop(true);
      rmSync(scratch, { recursive: true, force: true });
    }
  },
  300_000,
);

test("chat exits 1 where the last call of an MCP tool failed, else 0", () => {
  const child = join(import.meta.dir, "../application/chat/mcp-server-child.ts");
  const sums = `mcp_servers:\n  sums: { command: ${process.execPath}, args: [${child}] }\n`;
  const call = (step: number, name: string) => ({
    when: { role: "worker" as const, step },
    tool_calls: [{ name, arguments: { a: 2, b: 3 } }],
  });
  cli = createChatCli(
    [call(0, "sums_fail"), { when: { role: "worker", step: 1 }, text: worked("Tried.") }],
    sums,
  );
  const failed = cli.chat("/ops call the tool");
  expect([failed.code, failed.out]).toEqual([1, expect.stringContaining("Tried.")]);
  cli.rewrite([call(0, "sums_add"), { when: { role: "worker", step: 1 }, text: worked("Five.") }]);
  expect(cli.chat("/ops call the tool").code).toBe(0);
}, 300_000);

test("uses_browser without a browser server says what to configure", () => {
  cli = createChatCli([coder("Open the page", "", "\n## Flags\nuses_browser: true\n")]);
  const ran = cli.chat("/code3 open example.com");
  expect(ran.code).toBe(1);
  expect(ran.out).toContain("mcp_servers.browser is not configured");
});
