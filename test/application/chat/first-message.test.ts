import { afterEach, expect, test } from "bun:test";
import { type ChatCli, createChatCli, proposal, replace } from "./chat-kit.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

test("a coder's proposal runs at once as a job, and /undo takes it back to the byte", () => {
  const fixed = replace("math.ts", "  return a - b;", "  return a + b;");
  cli = createChatCli([
    {
      when: { role: "coder3" },
      text: proposal("Fix add", `${fixed}\n\`\`\`bash\ngrep -c + math.ts\n\`\`\``),
    },
  ]);
  const before = "export function add(a, b) {\n  return a - b;\n}\n";
  cli.write("math.ts", before);
  const ran = cli.chat("/code3 fix add in math.ts", [], { PICOCLAW_LOCALE: "ja" });
  expect(ran.err).toBe("");
  expect(ran.code).toBe(0);
  // Nothing judged it: the first line says so.
  expect(ran.out).toStartWith("実行完了 (2/2 コマンド成功): 1 ファイル、チェックなし: ");
  expect(ran.out).toContain(
    "\n\n【Plan】コーダー自身の言葉です（結果ではありません）\nFix add\n\n【実行結果】\n実行: 2 件, 成功: 2 件, 失敗: 0 件\n",
  );
  expect(ran.out).toContain("\n  M math.ts +1 −1\n");
  expect(ran.out).toMatch(/取り消すには: picoclaw undo 1\n/);
  expect(cli.read("math.ts")).toContain("a + b");
  const undone = cli.chat("/undo");
  expect(undone.code).toBe(0);
  expect(undone.out).toContain("M math.ts");
  expect(cli.read("math.ts")).toBe(before);
  expect(cli.chat("/redo").code).toBe(0);
  expect(cli.read("math.ts")).toContain("a + b");
});

test("--json is one document and --events ends with the reply", () => {
  cli = createChatCli([
    { when: { role: "coder3" }, text: proposal("Make a file", "```txt:a.txt\nhello\n```") },
  ]);
  const json = cli.json(cli.chat("/code3 make a.txt", ["--json"]));
  expect(json.success).toBe(true);
  expect(json.text).toContain("To undo it: picoclaw undo 1");
  expect(json.decision).toEqual({ route: "CODE3", source: "explicit", confidence: 1, reason: "/code3" });
  expect(json.session_id).toMatch(/^\d{8}-cli-default$/);
  expect(json.jobs).toMatchObject([{ success: true, changes: [{ path: "a.txt", kind: "added" }] }]);
  const lines = cli
    .chat("/code3 make a.txt", ["--events"])
    .out.trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string });
  expect(lines.map(({ type }) => type)).toEqual([
    "decided",
    "progress",
    "thinking",
    "proposed",
    "progress",
    "job-started",
    "job-command",
    "job-finished",
    "reply",
  ]);
});
