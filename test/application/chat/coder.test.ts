import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../../require.ts";
import { proposal, replace, worked } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

/** Its tries cost money: the same failure twice is the end. */
const CLOUD_CODER = { local: (role: string) => !role.startsWith("coder") };

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
    expect(asked?.messages.at(-1)?.text).toContain("src/ math.ts module-0.ts module-1.ts");
    expect(asked?.messages.at(-1)?.text).toEndWith("Request:\nfix add in src/math.ts");
    expect(bytesOf(asked!)).toBeLessThan(6_000);
  });

  test("the project's rules are included, and a map within the budget names what it leaves out", async () => {
    at = await openConversation(() => proposal("p", ""));
    at.write("AGENTS.md", "Use tabs.\n");
    at.write("CLAUDE.md", "Never read.\n");
    for (let i = 0; i < 300; i++) at.write(`packages/part-${i}/index.ts`, `export const value${i} = ${i};\n`);
    await at.send("/code3 do something");
    const text = at.asked[0]?.messages[0]?.text ?? "";
    expect(text).toStartWith("Project rules (AGENTS.md):\nUse tabs.");
    expect(text).not.toContain("Never read");
    expect(text).toContain("\npackages/ (297 files)\n");
    expect(text.length).toBeLessThan(6_000);
  });

  test("protected, ignored, linked and binary files and secrets are not shown, even when they are named", async () => {
    at = await openConversation((_, turn) =>
      turn === 0 ? "## Plan\nlook\n## Files\n- .env\n- link.txt\n- ../outside.txt\n" : "No change: seen",
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
    expect(at.asked[0]?.messages[0]?.text).not.toContain('<file path="lib/deep.ts"');
    expect(at.asked[1]?.messages[0]).toEqual(at.asked[0]!.messages[0]!);
    expect(at.asked[1]?.messages[2]?.text).toContain('<file path="lib/deep.ts">\n1\n</file>');
    expect(at.read("lib/deep.ts")).toBe("2\n");
  });

  test("each family is asked for the format it writes best", async () => {
    at = await openConversation(() => proposal("p", ""), { family: "openai", local: () => false });
    await at.send("/code2 x");
    expect(at.asked[0]?.system).toContain("*** Begin Patch");
    expect(at.asked[0]?.system).toStartWith("You are Ao,");
    await at.close();
    at = await openConversation(() => proposal("p", ""), { family: "claude", local: () => false });
    await at.send("/code x");
    expect(at.asked[0]?.system).toContain("<<<<<<< SEARCH");
    expect(at.asked[0]?.system).toStartWith("You are Gin,");
  });

  test("a cloud coder sees what coders did, and no conversation of local routes", async () => {
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
      "# Earlier in this conversation, in this workspace\n- make a.txt\n  → Write it\n    Done: added a.txt.",
    );
    expect(sent).toEndWith("Request:\ngo on");
  });
});

test("cloud agents remember the conversation, Mio and the coder alike", async () => {
  at = await openConversation(({ role }) => (role === "chat" ? "Nice to meet you." : "No change: none"), {
    local: () => false,
  });
  await at.send("/chat my dog is called Rex");
  await at.send("/chat what is it called?");
  expect(
    at
      .of("chat")
      .at(-1)
      ?.messages.map(({ text }) => text),
  ).toEqual(["my dog is called Rex", expect.stringContaining("Nice to meet you."), "what is it called?"]);
  await at.send("/code3 write its name into a.txt");
  expect(at.of("coder3").at(-1)?.messages.at(-1)?.text).toContain("my dog is called Rex");
});

test("a worker that stays local keeps its exchanges from a Mio in the cloud", async () => {
  at = await openConversation(({ role }) => (role === "worker" ? worked("The diary says so.") : "Yes."), {
    local: (role) => role === "worker",
  });
  await at.send("/analyze the diary");
  await at.send("/chat and now?");
  expect(JSON.stringify(at.of("chat").at(-1)?.messages)).not.toContain("diary");
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
  test("is returned with a report of what does not match and the current file, and then runs", async () => {
    at = await openConversation((_, turn) =>
      proposal("p", replace("a.txt", turn === 0 ? "two small words" : "two little words", "x")),
    );
    at.write("a.txt", "one\ntwo little words\n");
    const reply = await at.send("/code3 change a.txt");
    expect(reply.ok).toBe(true);
    expect(at.read("a.txt")).toBe("one\nx\n");
    const back = at.asked[1]?.messages ?? [];
    expect(back.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(back[2]?.text).toStartWith("Attempt 1 of 4 ran in a draft; nothing has landed yet.");
    expect(back[2]?.text).toContain("The nearest lines:\n  line 2");
    expect(back[2]?.text).toContain('<file path="a.txt">\none\ntwo little words\n</file>');
    expect(at.events.find(({ type }) => type === "notice")).toMatchObject({
      text: "Try 1 of 4: a.txt, near line 2: the expected lines are not in the file. Fixing…",
    });
    expect(reply.jobs).toHaveLength(1);
  });

  test("the outcome of each edit is reported, of a long file with 20 lines around the intended place; finished edits are not shown again", async () => {
    const long = Array.from({ length: 300 }, (_, i) => `const name${i} = "${"x".repeat(20)}";`).join("\n");
    at = await openConversation((_, turn) =>
      turn === 0
        ? proposal(
            "p",
            `${replace("a.txt", "one", "ONE")}\n${replace("long.ts", 'const name150 = "yyyyyyyyyyyyyyyyyyyy";', "y")}`,
          )
        : proposal("p", replace("long.ts", `const name150 = "${"x".repeat(20)}";`, "y")),
    );
    at.write("a.txt", "one\n");
    at.write("long.ts", `${long}\n`);
    const reply = await at.send("/code3 change a.txt and long.ts");
    expect(reply.ok).toBe(true);
    expect(at.read("a.txt")).toBe("ONE\n");
    const back = at.asked[1]?.messages[2]?.text ?? "";
    expect(back).toContain("1. done: update a.txt\n2. FAILED: update long.ts");
    expect(back).not.toContain('<file path="a.txt"');
    const shown = /<file path="long\.ts" lines="([^"]+) of 300">/.exec(back)?.[1] ?? "";
    const covers = shown.split(",").some((range) => {
      const [from = 0, to = 0] = range.split("-").map(Number);
      return from <= 131 && to >= 171;
    });
    expect(covers).toBe(true);
    expect(back.length).toBeLessThan(8_000);
  });

  test("ends at the same failure after the whole file was shown, and nothing is changed", async () => {
    at = await openConversation(() => proposal("p", replace("a.txt", "not there at all", "x")), CLOUD_CODER);
    at.write("a.txt", "one\n");
    const reply = await at.send("/code3 change a.txt");
    expect(reply).toMatchObject({ ok: false, jobs: [{ status: "no-change", failed_cmds: 1 }] });
    expect(reply.text).toStartWith("No change, 1 command failed\n");
    expect(reply.text).toContain("a.txt");
    expect(reply.text).toContain("The same failure occurred twice, so the coder was not asked again.");
    expect(at.asked).toHaveLength(3);
    expect(at.tree()).toEqual({ "a.txt": "one\n" });
  });

  test.each([
    ["a patch that does not parse", '## Plan\np\n## Patch\n[{"type": "file_edit"\n'],
    ["only unknown blocks", "## Plan\np\n## Patch\n```py\nprint(1)\n```\n"],
  ])("%s goes back once, then fails", async (_, answer) => {
    at = await openConversation(() => answer, CLOUD_CODER);
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("The patch is not in a valid format.");
    expect(reply.text).toEndWith("\nNothing was changed.");
    expect(at.asked).toHaveLength(2);
    expect(at.archive.list()).toEqual([]);
  });

  test("words with the line that nothing has to change are an answer, and remembered", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? "Which of the two files do you mean?\nNo change: a question"
        : proposal("p", "```txt:a.txt\nx\n```"),
    );
    const reply = await at.send("/code3 change it");
    const text = "Which of the two files do you mean?\n\nNothing was changed. The coder's words: a question";
    expect(reply).toMatchObject({ ok: true, text, jobs: [] });
    await at.send("/code3 a.txt");
    expect(at.asked[1]?.messages[0]?.text).toContain("Which of the two files do you mean?");
    expect(at.tree()).toEqual({ "a.txt": "x\n" });
  });

  const CLAIM = "I have fixed `a.txt`. All tests in it are green now.";
  const EMPTY = proposal(CLAIM, "");
  const HEAD =
    "Nothing was changed: the coder's answer has neither a patch nor the line that says why none is needed.";

  test.each([
    ["words", CLAIM],
    ["an empty patch", EMPTY],
  ])("%s without that line are returned once, and a patch may follow", async (_, first) => {
    at = await openConversation((_, turn) => (turn === 0 ? first : proposal("p", "```txt:a.txt\nx\n```")));
    const reply = await at.send("/code3 make the tests green");
    expect(at.asked[1]?.messages.at(-1)?.text).toStartWith("Your answer contains no patch");
    expect(reply.ok).toBe(true);
    expect(at.tree()).toEqual({ "a.txt": "x\n" });
  });

  test("a coder that answers the question with the bare line has its first words shown", async () => {
    at = await openConversation(
      (_, turn) => (turn === 0 ? "`add` は和を返します。" : "変更なし: 質問への回答"),
      {
        locale: "ja",
      },
    );
    const reply = await at.send("/code3 add は何をしますか");
    const text = "何も変更していません。コーダーの言葉: 質問への回答\n\n`add` は和を返します。";
    expect(reply).toMatchObject({ ok: true, text, jobs: [] });
    expect(at.asked).toHaveLength(2);
  });

  test.each([
    ["in sections", "It adds.", "## Plan\nNo change: a question\n## Patch\n", "a question\n\nIt adds."],
    ["in the patch", "It adds.", "## Plan\n## Patch\nNo change: a question\n", "a question\n\nIt adds."],
    ["beside other words", CLAIM, "It was right.\nNo change: no need", "no need\n\nIt was right."],
  ])("a reason %s ends what was asked about, and comes first", async (_, first, second, text) => {
    at = await openConversation((_, turn) => (turn === 0 ? first : second));
    const reply = await at.send("/code3 what is add?");
    expect(reply).toMatchObject({
      ok: true,
      text: `Nothing was changed. The coder's words: ${text}`,
      jobs: [],
    });
    expect(at.asked).toHaveLength(2);
  });

  test("a plan and a preview show the reason, not its label", async () => {
    at = await openConversation(() => "It adds.\nNo change: a question");
    expect((await at.send("/code3 plan what is add?")).text).toStartWith("It adds.\na question\n");
    const { text } = await at.send("/preview /code3 what is add?");
    expect(text).toBe("It adds.\n\nNothing was changed. The coder's words: a question");
  });

  test.each([
    ["words twice", [CLAIM, CLAIM], CLAIM],
    ["an empty patch, then words", [EMPTY, CLAIM], CLAIM],
    ["other words", ["It adds.", "Nothing else."], "It adds.\n\nNothing else."],
  ])("%s without that line are shown as what they are, and are not a success", async (_, said, words) => {
    at = await openConversation((_, turn) => said[turn] ?? "");
    const reply = await at.send("/code3 make the tests green");
    expect(reply).toMatchObject({ ok: false, text: `${HEAD}\n\n${words}`, jobs: [] });
    expect(at.asked).toHaveLength(2);
  });

  test("words, then an empty patch, succeed as what they are: nothing was changed", async () => {
    at = await openConversation((_, turn) => [CLAIM, EMPTY][turn] ?? "");
    const reply = await at.send("/code3 make the tests green");
    expect(reply).toMatchObject({ ok: true, text: `Nothing was changed.\n\n${CLAIM}`, jobs: [] });
    expect(at.asked).toHaveLength(2);
  });

  test.each([
    ["with a claim", proposal(CLAIM, "[]"), `\n\n${CLAIM}`],
    ["that is a section left empty", EMPTY, `\n\n${CLAIM}`],
    ["alone", "[]\n", ""],
    ["in a fence", proposal("", "```json\n[]\n```"), ""],
    ["as JSON", JSON.stringify({ plan: "It is right.", patch: "[]" }), "\n\nIt is right."],
  ])(
    "an empty list %s, sent twice, succeeds as what it is: nothing was changed",
    async (_, answer, words) => {
      at = await openConversation(() => answer);
      const reply = await at.send("/code3 make the tests green");
      expect(reply).toMatchObject({ ok: true, text: `Nothing was changed.${words}`, jobs: [] });
      expect(at.asked).toHaveLength(2);
    },
  );

  test("an empty patch before the work of a browser needs no reason", async () => {
    at = await openConversation(() =>
      proposal("Add the meeting to the calendar.", "", { more: "\n## Flags\nuses_browser: true\n" }),
    );
    await at.send("/code3 add the meeting");
    expect(at.of("coder3")).toHaveLength(1);
  });

  test("doubted words are shown if no further answer follows", async () => {
    at = await openConversation((_, turn) =>
      turn === 0 ? CLAIM : { fails: "bad-request", message: "the key was taken back" },
    );
    const reply = await at.send("/code3 make the tests green");
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith(`${HEAD}\n\n${CLAIM}\n\n`);
    expect(reply.text).toContain("the key was taken back");
  });

  test("a cut answer continues where it stopped", async () => {
    const whole = proposal("p", "```txt:a.txt\none line\nanother line of the file\n```");
    const cut = whole.indexOf("line of the");
    at = await openConversation((_, turn) =>
      turn === 0
        ? { text: whole.slice(0, cut), finish: "length" }
        : { text: whole.slice(whole.lastIndexOf("\n", cut) + 1), finish: "stop" },
    );
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(true);
    expect(at.read("a.txt")).toBe("one line\nanother line of the file\n");
    expect(at.asked[1]?.messages.at(-2)).toEqual({ role: "assistant", text: whole.slice(0, cut).trimEnd() });
  });

  test.each([
    ["length", 2],
    ["filtered", 1],
  ] as const)("an answer that only ever ends by its %s is not carried out", async (finish, requests) => {
    at = await openConversation(() => ({ text: proposal("p", "```bash\nrm -rf sr"), finish }), CLOUD_CODER);
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("Nothing was run");
    expect(at.asked).toHaveLength(requests);
  });

  test("a whole file that the coder never saw is returned with the current file", async () => {
    at = await openConversation((_, turn) =>
      proposal("p", turn === 0 ? "```txt:lib/deep.txt\nnew\n```" : replace("lib/deep.txt", "one", "two")),
    );
    at.write("lib/deep.txt", "one\nkept\n");
    for (let i = 0; i < 250; i++) at.write(`other-${i}.txt`, "x\n");
    const reply = await at.send("/code3 make it so");
    expect(reply.ok).toBe(true);
    expect(at.asked[1]?.messages.at(-1)?.text).toStartWith(
      "lib/deep.txt exists and you have not seen it, yet your block would replace all of it.",
    );
    expect(at.asked[1]?.messages.at(-1)?.text).toContain('<file path="lib/deep.txt">\none\nkept\n</file>');
    expect(at.read("lib/deep.txt")).toBe("two\nkept\n");
  });

  test("a placeholder for code is returned", async () => {
    at = await openConversation((_, turn) =>
      proposal(
        "p",
        turn === 0 ? replace("a.ts", "one", "two\n// ... existing code ...") : replace("a.ts", "one", "two"),
      ),
    );
    at.write("a.ts", "one\n");
    const reply = await at.send("/code3 change a.ts");
    expect(reply.ok).toBe(true);
    expect(at.asked[1]?.messages.at(-1)?.text).toContain(
      'the line "// ... existing code ..." would become part of the file',
    );
    expect(at.read("a.ts")).toBe("two\n");
  });
});

describe("an edit that fails, and then an empty patch", () => {
  // A project's own checks run only where commands can be confined.
  const checksRun = requirePart("bwrap");
  const half = `${replace("a.txt", "one", "two")}\n${replace("b.txt", "not there", "x")}`;
  const open = (
    check: string,
    then: (turn: number) => string = () => proposal("b.txt is fine as it is.", ""),
  ) =>
    openConversation((_, turn) => (turn === 0 ? proposal("both", half) : then(turn)), {
      config: `checks: { command: '${check}' }\n`,
    });
  const send = async () => {
    at.write("a.txt", "one\n");
    at.write("b.txt", "other\n");
    return at.send("/code3 change a.txt and b.txt");
  };

  test.if(checksRun)(
    "is judged by the checks: green lands, and the first line says what was left out",
    async () => {
      at = await open("test -f a.txt");
      const reply = await send();
      expect(reply.text.split("\n")[0]).toStartWith("Applied, 1 edit left out (b.txt): 1 file, ");
      expect(reply.text).toContain("b.txt is fine as it is.");
      expect(reply).toMatchObject({ ok: false, jobs: [{ status: "partly" }] });
      expect(at.read("a.txt")).toBe("two\n");
      expect(at.asked).toHaveLength(2);
    },
  );

  test.if(checksRun)("a red patch is returned, and its fix lands whole", async () => {
    at = await open("! grep -q two a.txt", (turn) =>
      turn === 1 ? proposal("Enough.", "") : proposal("three", replace("a.txt", "two", "three")),
    );
    const reply = await send();
    expect(at.asked[2]?.messages.at(-1)?.text).toStartWith(
      "Without the edits that failed, the rest was judged",
    );
    expect(reply.ok).toBe(true);
    expect(at.read("a.txt")).toBe("three\n");
  });

  test("that has no checks to judge it stays a preview", async () => {
    at = await openConversation((_, turn) => (turn === 0 ? proposal("both", half) : proposal("Enough.", "")));
    const reply = await send();
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("Preview, nothing applied");
    expect(at.read("a.txt")).toBe("one\n");
  });
});

describe("a proposal that runs", () => {
  test("an empty patch is a success of no commands", async () => {
    at = await openConversation(() => proposal("No change: nothing to do.", ""), { locale: "ja" });
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(true);
    expect(reply.text).toStartWith(
      "変更なし\n\n【Plan】コーダー自身の言葉です（結果ではありません）\nnothing to do.\n\n【実行結果】\n実行: 0 件, 成功: 0 件, 失敗: 0 件",
    );
    expect(reply.actions).toEqual([]);
  });

  const failing = () => proposal("p", "```bash\necho why; exit 3\n```\n```txt:a.txt\nx\n```");

  test("a command that keeps failing leaves a preview, explained from the job's facts", async () => {
    at = await openConversation(failing, { locale: "ja" });
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("プレビュー（まだ何も適用していません）");
    expect(reply.text).toContain("shell_command run echo why; exit 3");
    expect(reply.text.match(/^why$/gm)).toHaveLength(1);
    expect(at.tree()).toEqual({});
    const [apply] = reply.actions;
    expect(apply?.message).toMatch(/^\/apply job_/);
    await at.send(apply?.message ?? "");
    expect(at.tree()).toEqual({ "a.txt": "x\n" });
  });

  test("coder.on_red: apply brings it in with what failed", async () => {
    at = await openConversation(failing, { locale: "ja", config: "coder: { on_red: apply }\n" });
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("適用済み、1 件のコマンドが失敗");
    expect(at.tree()).toEqual({ "a.txt": "x\n" });
  });

  test("coder.on_red: discard leaves nothing", async () => {
    at = await openConversation(failing, { config: "coder: { on_red: discard }\n", ...CLOUD_CODER });
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith(
      "Stopped, nothing changed\nThe draft was discarded after 2 attempts (coder.on_red: discard).\nnot checked: no tests or linters were found (checks.command can name them)\nStill failing: echo why; exit 3: command failed",
    );
    expect(at.tree()).toEqual({});
  });

  test.each([
    ["/code3", "Applied"],
    ["/preview", "Preview"],
  ])("%s tells of a new file that matches a protected pattern", async (command, status) => {
    at = await openConversation(() => proposal("p", "```bash\necho k=v > .env\n```"));
    const reply = await at.send(`${command} x`);
    expect(reply.text).toStartWith(status);
    expect(reply.text).toContain("New files match a protected pattern:\n  .env");
  });

  test("red then green is one job, and /undo takes all of it back", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? proposal("First try", "```txt:a.txt\nwrong\n```\n```bash\ngrep -q right a.txt\n```")
        : proposal(
            "Second try",
            `${replace("a.txt", "wrong", "right")}\n\`\`\`bash\ngrep -q right a.txt\n\`\`\``,
          ),
    );
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(true);
    expect(reply.jobs).toHaveLength(1);
    expect(reply.text).toContain("[Plan] the coder's own words, not a result\nFirst try\n→ Second try\n");
    expect(reply.text).toMatch(/^Attempts: 2$/m);
    expect(at.asked[1]?.messages.at(-1)?.text).toContain("FAILED grep -q right a.txt: exit code 1");
    expect(at.asked[1]?.messages.at(-1)?.text).toContain('<file path="a.txt">\nwrong\n</file>');
    expect(at.tree()).toEqual({ "a.txt": "right\n" });
    await at.send("/undo");
    expect(at.tree()).toEqual({});
  });

  test("what reaches outward waits until the rest is green, and runs once", async () => {
    at = await openConversation((_, turn) =>
      proposal(
        "p",
        `\`\`\`bash\ngit push origin HEAD || true; echo pushed >> pushed.txt\n\`\`\`\n\`\`\`bash\nexit ${turn === 0 ? 3 : 0}\n\`\`\``,
      ),
    );
    const reply = await at.send("/code3 x");
    expect(reply.ok).toBe(true);
    expect(at.tree()).toEqual({ "pushed.txt": "pushed\n" });
  });

  test("a job that fails altogether is not called done", async () => {
    at = await openConversation(() => proposal("p", "```bash\nexit 3\n```"), { locale: "ja" });
    const reply = await at.send("/code3 x");
    expect(reply.text).toStartWith("変更なし、1 件のコマンドが失敗\n\nWorker実行失敗: 終了コード 3\n");
    expect(reply.text).not.toContain("exit status");
    expect(reply.text.split("終了コード 3")).toHaveLength(2);
    expect(reply.text).not.toContain("実行完了");
    const told = at.events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
    expect(told).toContain("試行 1/4: exit 3: コマンドが失敗しました: 終了コード 3。修正しています…");
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

  test("the plan, the files and a high risk are reported before and after", async () => {
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
    expect(reply.text).toContain("[Plan] the coder's own words, not a result\nDo it\nRisk: high\n");
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

describe("a conversation remembers", () => {
  const note = (at: number) => `Note ${at}: keep it short`;

  test("the next request begins with the earlier plan, the difference and the file that was changed", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? proposal(
            "Use a Map, because keys may be objects.",
            replace("src/store.ts", "export const store = {};", "export const store = new Map();"),
          )
        : proposal("p", ""),
    );
    at.write("src/store.ts", "export const store = {};\n");
    for (let i = 0; i < 40; i++)
      at.write(`src/part-${i}.ts`, `export const part${i} = "${"x".repeat(900)}";\n`);
    await at.send("/code3 make the store in src/store.ts a map");
    await at.send("/code3 why did you do it that way?");
    const text = at.asked[1]?.messages[0]?.text ?? "";
    expect(text).toStartWith(
      "# Earlier in this conversation, in this workspace\n- make the store in src/store.ts a map\n  → Use a Map, because keys may be objects.\n    Done: modified src/store.ts.",
    );
    expect(text).toContain("-export const store = {};\n+export const store = new Map();");
    expect(text.match(/<file path="([^"]+)"/)?.[1]).toBe("src/store.ts");
  });

  test("after ten messages and a restart, every agent still gets a decision and its reason", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? proposal(
            "retryDelay is 250 ms, because the gateway bans faster callers.",
            replace("a.ts", "export const retryDelay = 1;", "export const retryDelay = 250;"),
          )
        : proposal(
            `${note(turn)}. ${"It was so before. ".repeat(60)}`,
            replace("notes.md", "x", `x\nnote ${turn}`),
          ),
    );
    at.write("a.ts", "export const retryDelay = 1;\n");
    at.write("notes.md", "x\n");
    await at.send("/code3 how long shall retryDelay in a.ts be? choose");
    for (let i = 1; i <= 10; i++) await at.send(`/code3 note ${i} in notes.md`);
    await at.reopen();
    await at.send("/code3 what did you decide about retryDelay, and why?");
    const text = at.asked.at(-1)?.messages[0]?.text ?? "";
    expect(text).toContain("retryDelay is 250 ms, because the gateway bans faster callers.");
    expect(text.length).toBeLessThan(20_000);
  });

  test("go after a job carries out no plan a second time", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? proposal("Double it.", replace("a.ts", "export const a = 1;", "export const a = 2;"))
        : proposal("p", ""),
    );
    at.write("a.ts", "export const a = 1;\n");
    await at.send("/code3 double a in a.ts");
    await at.send("/code3 go");
    expect(at.asked[1]?.messages[0]?.text).toEndWith("Request:\ngo");
  });
});

test("the patch of an answer is parsed once, from the answer to its draft", async () => {
  const patch = JSON.stringify([{ type: "file_edit", action: "create", target: "once.txt", content: "1\n" }]);
  at = await openConversation(() => proposal("p", patch));
  const parse = spyOn(JSON, "parse");
  try {
    await at.send("/code3 write once.txt");
    // Once to find its end in the answer, once as a patch; its draft is given the commands.
    expect(parse.mock.calls.filter(([text]) => String(text).trim() === patch)).toHaveLength(2);
  } finally {
    parse.mockRestore();
  }
  expect(at.read("once.txt")).toBe("1\n");
});
