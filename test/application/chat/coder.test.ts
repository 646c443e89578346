import { afterEach, describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const bytesOf = ({ system = "", messages }: { system?: string; messages: readonly { text: string }[] }) =>
  Buffer.byteLength(system) + messages.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);

describe("what a coder is sent", () => {
  test("a one-edit task takes less than 6,000 bytes, and the named file is there whole", async () => {
    at = await openConversation(() => proposal("p", replace("src/math.ts", "a - b", "a + b")));
    const file = `export function add(a: number, b: number): number {\n  return a - b\n}\n${"// a line of the file\n".repeat(40)}`;
    at.write("src/math.ts", file.replace("a - b", "\na - b\n"));
    for (let i = 0; i < 30; i++)
      at.write(`src/module-${i}.ts`, `export function f${i}() {}\nexport class C${i} {}\n`);
    await at.send("/code3 fix add in src/math.ts");
    const [asked] = at.asked;
    expect(asked?.messages.at(-1)?.text).toContain('<file path="src/math.ts">\nexport function add');
    expect(asked?.messages.at(-1)?.text).toContain("src/module-7.ts: f7, C7");
    expect(asked?.messages.at(-1)?.text).toEndWith("Request:\nfix add in src/math.ts");
    expect(bytesOf(asked!)).toBeLessThan(6_000);
  });

  test("the project's rules come along, and a map that fits the budget says what is missing", async () => {
    at = await openConversation(() => proposal("p", ""));
    at.write("AGENTS.md", "Use tabs.\n");
    at.write("CLAUDE.md", "Never read.\n");
    for (let i = 0; i < 300; i++) at.write(`packages/part-${i}/index.ts`, `export const value${i} = ${i};\n`);
    await at.send("/code3 do something");
    const text = at.asked[0]?.messages[0]?.text ?? "";
    expect(text).toStartWith("Project rules (AGENTS.md):\nUse tabs.");
    expect(text).not.toContain("Never read");
    expect(text).toMatch(/\n… and \d+ more\n/);
    expect(text.length).toBeLessThan(6_000);
  });

  test("protected, ignored, linked and binary files and secrets are not shown, even when they are named", async () => {
    at = await openConversation((_, turn) =>
      turn === 0 ? "## Plan\nlook\n## Files\n- .env\n- link.txt\n- ../outside.txt\n" : proposal("p", ""),
    );
    at.write(".env", "TOKEN=abcdefgh12345678\n");
    at.write("server.key", "PRIVATE");
    at.write(".gitignore", "built/\n");
    at.write("built/out.js", "generated();\n");
    at.write("image.bin", new Uint8Array([1, 0, 2]));
    at.write("../outside.txt", "outside\n");
    at.write("config.ts", 'export const key = "sk-ant-REDACTED";\n');
    symlinkSync(join(at.workspace, "../outside.txt"), join(at.workspace, "link.txt"));
    await at.send("/code3 look at .env, server.key, built/out.js, image.bin, link.txt and config.ts");
    expect(at.asked).toHaveLength(2);
    const sent = at.asked.flatMap(({ messages }) => messages.map(({ text }) => text)).join("\n");
    for (const hidden of [
      "abcdefgh12345678",
      "PRIVATE",
      "generated",
      "outside\n",
      "aaaaaaaaaaaaaaaaaaaaaaaa",
    ])
      expect(sent).not.toContain(hidden);
    expect(sent).toContain("export const key = ");
  });

  test("files that it asks for are shown in the next round", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? "## Plan\nI must see it.\n## Files\n- lib/deep.ts\n"
        : proposal("p", replace("lib/deep.ts", "1", "2")),
    );
    at.write("lib/deep.ts", "1\n");
    for (let i = 0; i < 300; i++) at.write(`packages/part-${i}/index.ts`, `export const value${i} = ${i};\n`);
    const reply = await at.send("/code3 raise it");
    expect(reply.ok).toBe(true);
    expect(at.asked[0]?.messages[0]?.text).not.toContain("<file path");
    expect(at.asked[1]?.messages[0]).toEqual(at.asked[0]!.messages[0]!);
    expect(at.asked[1]?.messages[2]?.text).toContain('<file path="lib/deep.ts">\n1\n</file>');
    expect(at.read("lib/deep.ts")).toBe("2\n");
  });

  test("each family is asked for the format it writes best", async () => {
    at = await openConversation(() => proposal("p", ""), { family: "openai" });
    await at.send("/code2 x");
    expect(at.asked[0]?.system).toContain("*** Begin Patch");
    expect(at.asked[0]?.system).toStartWith("You are Ao,");
    await at.close();
    at = await openConversation(() => proposal("p", ""), { family: "claude" });
    await at.send("/code x");
    expect(at.asked[0]?.system).toContain("<<<<<<< SEARCH");
    expect(at.asked[0]?.system).toStartWith("You are Gin,");
  });

  test("what was said on local routes is not shown to a cloud coder, what coders did is", async () => {
    at = await openConversation(
      ({ role }) => (role === "chat" ? "A private answer." : proposal("Write it", "```txt:a.txt\nx\n```")),
      {
        local: (role) => !role.startsWith("coder"),
      },
    );
    await at.send("/chat my secret diary");
    await at.send("/code3 make a.txt");
    await at.send("/code3 go on");
    const last = at.of("coder3").at(-1)?.messages ?? [];
    const sent = [at.of("coder3").at(-1)?.system, ...last.map(({ text }) => text)].join("\n");
    expect(sent).not.toContain("diary");
    expect(sent).not.toContain("private answer");
    // As facts: a reply given as a model's own would be taken for the form to answer in.
    expect(last.map(({ role }) => role)).toEqual(["user"]);
    expect(sent).toContain(
      "# Earlier in this conversation, in this workspace\n- make a.txt\n  → Done: added a.txt.",
    );
    expect(sent).toEndWith("Request:\ngo on");
  });
});

test("what Shiro found in a message that a coder answered as well stays local too", async () => {
  at = await openConversation(({ role }) => (role === "worker" ? "A private finding." : proposal("p", "")), {
    local: (role) => !role.startsWith("coder"),
  });
  await at.send("/analyze the diary\n/code3 nothing");
  await at.send("/code3 go on");
  const sent = at
    .of("coder3")
    .flatMap(({ system, messages }) => [system, ...messages.map(({ text }) => text)])
    .join("\n");
  expect(sent).not.toContain("finding");
  expect(sent).not.toContain("diary");
});

describe("a proposal that cannot run", () => {
  test("goes back once with the report of what does not match, and then runs", async () => {
    at = await openConversation((_, turn) =>
      proposal("p", replace("a.txt", turn === 0 ? "two small words" : "two little words", "x")),
    );
    at.write("a.txt", "one\ntwo little words\n");
    const reply = await at.send("/code3 change a.txt");
    expect(reply.ok).toBe(true);
    expect(at.read("a.txt")).toBe("one\nx\n");
    const back = at.asked[1]?.messages ?? [];
    expect(back.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(back[2]?.text).toContain("The patch does not match the files");
    expect(back[2]?.text).toContain("two little words");
    expect(at.events).toContainEqual({
      type: "notice",
      text: "The proposal did not fit; it goes back once with the reasons.",
    });
  });

  test("fails plainly the second time, and nothing is changed or journalled", async () => {
    at = await openConversation(() => proposal("p", replace("a.txt", "not there at all", "x")));
    at.write("a.txt", "one\n");
    const reply = await at.send("/code3 change a.txt");
    expect(reply).toMatchObject({ ok: false, jobs: [] });
    expect(reply.text).toStartWith("The proposal could not be carried out; nothing was changed.");
    expect(reply.text).toContain("a.txt");
    expect(at.asked).toHaveLength(2);
    expect(at.tree()).toEqual({ "a.txt": "one\n" });
    expect(at.archive.list()).toEqual([]);
  });

  test.each([
    ["no proposal at all", "I would rather talk."],
    ["a patch that does not parse", '## Plan\np\n## Patch\n[{"type": "file_edit"\n'],
    ["only unknown blocks", "## Plan\np\n## Patch\n```py\nprint(1)\n```\n"],
  ])("%s goes back once, then fails", async (_, answer) => {
    at = await openConversation(() => answer);
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(false);
    expect(at.asked).toHaveLength(2);
    expect(at.archive.list()).toEqual([]);
  });

  test.each(["length", "filtered"] as const)(
    "an answer that ended by its %s is not carried out",
    async (finish) => {
      at = await openConversation(() => ({ text: proposal("p", "```bash\nrm -rf sr"), finish }));
      const reply = await at.send("/code3 x");
      expect(reply.ok).toBe(false);
      expect(reply.text).toContain("Nothing was run");
      expect(at.asked).toHaveLength(1);
    },
  );
});

describe("a proposal that runs", () => {
  test("an empty patch is a success of no commands", async () => {
    at = await openConversation(() => proposal("Nothing to do.", ""), { locale: "ja" });
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(true);
    expect(reply.text).toStartWith(
      "変更なし\n\n【Plan】\nNothing to do.\n\n【実行結果】\n実行: 0 件, 成功: 0 件, 失敗: 0 件",
    );
    expect(reply.actions).toEqual([]);
  });

  test("a command that fails is told from the job's facts, and the rest runs", async () => {
    at = await openConversation(() => proposal("p", "```bash\necho why; exit 3\n```\n```txt:a.txt\nx\n```"), {
      locale: "ja",
    });
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("反映済み、1 件のコマンドが失敗 (1/2 コマンド成功)\n");
    expect(reply.text).toContain("✗ [1] shell_command run echo why; exit 3");
    expect(reply.text.match(/^why$/gm)).toHaveLength(1);
    expect(reply.jobs).toMatchObject([{ executed_cmds: 1, failed_cmds: 1 }]);
    expect(at.tree()).toEqual({ "a.txt": "x\n" });
  });

  test("a job that fails altogether is not called done", async () => {
    at = await openConversation(() => proposal("p", "```bash\nexit 3\n```"), { locale: "ja" });
    const reply = await at.send("/code3 x");
    expect(reply.text).toStartWith("変更なし、1 件のコマンドが失敗\n\nWorker実行失敗: ");
    expect(reply.text).not.toContain("実行完了");
  });

  test("auto_commit: the commit is in the reply, and /undo takes it back too", async () => {
    at = await openConversation(() => proposal("Write a", "```txt:a.txt\nx\n```"), {
      config: "worker: { auto_commit: true }\n",
    });
    Bun.spawnSync(["git", "init", "-q"], { cwd: at.workspace });
    const reply = await at.send("/code3 x");
    const commit = reply.jobs[0]?.git_commit ?? "";
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    expect(reply.text).toContain(commit);
    await at.send("/undo");
    expect(at.tree()).toEqual({});
    expect(Bun.spawnSync(["git", "log"], { cwd: at.workspace, stderr: "ignore" }).exitCode).not.toBe(0);
  });

  test("the plan, the files and a high risk are told before and after", async () => {
    const patch = `${replace("a.txt", "one", "two")}\n\`\`\`json\n[{"type":"file_edit","action":"rename","target":"b.txt","content":"c.txt"}]\n\`\`\``;
    at = await openConversation(() => proposal("Do it", patch, { risk: "high" }));
    at.write("a.txt", "one\n");
    at.write("b.txt", "x\n");
    const reply = await at.send("/code3 x");
    expect(at.events).toContainEqual({
      type: "proposed",
      plan: "Do it",
      commands: 2,
      risk: "high",
      files: ["a.txt", "b.txt", "c.txt"],
    });
    expect(reply.text).toContain("[Plan]\nDo it\nRisk: high\n");
  });

  test("what it prints is masked in the reply and in the events", async () => {
    const secret = "hunter2hunter2";
    at = await openConversation(
      () => proposal("p", `\`\`\`bash\nprintf 'hunter2'; sleep 0.05; printf 'hunter2\\n'\n\`\`\``),
      {
        env: { MY_API_KEY: secret },
      },
    );
    const reply = await at.send("/code3 x");
    expect(JSON.stringify(reply)).not.toContain(secret);
    expect(JSON.stringify(at.events)).not.toContain(secret);
    expect(at.events.some(({ type }) => type === "job-output")).toBe(true);
  });
});
