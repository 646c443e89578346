/** The forms in which small models answer: each block is read as the file that it was meant for, or goes back to its coder. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesInQuestion } from "../../../src/domain/coder/answer-form.ts";
import { looksLikePatch, readNoChange, readProposal } from "../../../src/domain/coder/proposal.ts";
import { findNotWhole, isBareSource } from "../../../src/domain/coder/whole-file.ts";
import { type CheckedFiles, type Doubt, doubtfulEdits } from "../../../src/domain/drafts/check-edits.ts";
import type { PatchCommand } from "../../../src/domain/patch/patch-command.ts";
import { parsesSource } from "../../../src/infrastructure/platform/parse-source.ts";

const STUB = "def leap_year(year):\n    pass\n";
const CODE = "def leap_year(year):\n    return year % 4 == 0\n";

function filesOf(texts: Readonly<Record<string, string>>): CheckedFiles {
  return {
    judges: () => true,
    look: (path) =>
      texts[path] === undefined
        ? { kind: "missing" }
        : { kind: "file", bytes: Buffer.from(texts[path]), mode: 0o644 },
  };
}

function doubtsOf(commands: readonly PatchCommand[], texts: Readonly<Record<string, string>>): Doubt[] {
  return doubtfulEdits(commands, filesOf(texts), {
    shown: () => true,
    told: () => false,
    notWhole: (path, before, after, isGuess) =>
      findNotWhole({ path, before, after, isGuess }, "", parsesSource),
  });
}

type Outcome = { readonly written: Readonly<Record<string, string>> } | { readonly returned: string };

/** What happens to an answer about `leap.py` over these files. */
function readAnswer(
  answer: string,
  asked: readonly string[] = ["leap.py"],
  texts: Readonly<Record<string, string>> = { "leap.py": STUB },
): Outcome {
  const read = readProposal(answer, asked);
  if (read.kind !== "proposal" || !read.parsed.ok) return { returned: "unread" };
  const { commands } = read.parsed;
  if (commands.length === 0) return { returned: "empty" };
  const doubts = doubtsOf(commands, texts);
  if (doubts.length > 0) return { returned: doubts.map(({ kind }) => kind).join() };
  return { written: Object.fromEntries(commands.map(({ target, content }) => [target, content])) };
}

const IN_SECTIONS = (patch: string) => `## Plan\nDo.\n\n## Patch\n${patch}\n\n## Risk\nlow\n\n## Cost\nx\n`;

describe("the code of a small model is read", () => {
  test.each([
    ["a path on a line above a fence", `Here it is.\n\nleap.py\n\`\`\`\n${CODE}\`\`\`\n`],
    ["the same in sections", IN_SECTIONS(`leap.py\n\`\`\`python\n${CODE}\`\`\``)],
    ["a bold path", `## Plan\nDo.\n\n## Patch\n**leap.py**\n\`\`\`python\n${CODE}\`\`\`\n`],
    ["a bare fence, one file in question", `Here is the code:\n\n\`\`\`python\n${CODE}\`\`\`\n`],
    ["a bare fence in sections", IN_SECTIONS(`\`\`\`python\n${CODE}\`\`\``)],
    ["a fence without a language", IN_SECTIONS(`\`\`\`\n${CODE}\`\`\``)],
    ["a path in the prose above", `The implementation in \`leap.py\`:\n\n\`\`\`python\n${CODE}\`\`\`\n`],
    ["a path after the language", `\`\`\`python:leap.py\n${CODE}\`\`\`\n`],
    ["the element in which files are shown", IN_SECTIONS(`<file path="leap.py">\n${CODE}</file>`)],
    ["that element in a fence", IN_SECTIONS(`\`\`\`python\n<file path="leap.py">\n${CODE}</file>\n\`\`\``)],
    ["that element alone", `<file path="leap.py">\n${CODE}</file>\n`],
    ["a fence that is never closed", `## Plan\nDo.\n\n## Patch\n\`\`\`python:leap.py\n${CODE}`],
    ["a bare fence that is never closed", `\`\`\`python\n${CODE}`],
    [
      "a block above an empty patch",
      `## Plan\nDo:\n\`\`\`python:leap.py\n${CODE}\`\`\`\n\n## Patch\n\n## Risk\nlow\n`,
    ],
    [
      "a block above the words of the prompt",
      `## Plan\nDo:\n\`\`\`python:leap.py\n${CODE}\`\`\`\n\n## Patch\nNo change: reason\n\n## Risk\nlow\n`,
    ],
  ])("%s", (_, answer) => {
    expect(readAnswer(answer)).toEqual({ written: { "leap.py": CODE } });
  });

  test.each(["diff", ""])("a diff in a fence of the language '%s' without counts or @@", (language) => {
    const answer = `\`\`\`${language}\n--- a/leap.py\n+++ b/leap.py\n def leap_year(year):\n-    pass\n+    return True\n\`\`\`\n`;
    const read = readProposal(answer, ["leap.py"]);
    expect(read.kind === "proposal" && read.parsed.ok && read.parsed.commands).toMatchObject([
      { action: "update", target: "leap.py", edit: { kind: "diff" } },
    ]);
  });

  test("a comment with the path in the first line stays a line of the file", () => {
    expect(readAnswer(`\`\`\`python\n# leap.py\n${CODE}\`\`\`\n`)).toEqual({
      written: { "leap.py": `# leap.py\n${CODE}` },
    });
  });

  test("of two files in question, each block is the one that the line above it names", () => {
    const answer = `In leap.py:\n\`\`\`python\n${CODE}\`\`\`\n`;
    expect(readAnswer(answer, ["leap.py", "two.py"])).toEqual({ written: { "leap.py": CODE } });
    expect(readAnswer(`Code:\n\`\`\`python\n${CODE}\`\`\`\n`, ["leap.py", "two.py"])).toEqual({
      returned: "unread",
    });
  });

  test("a new file is read if its text shows that it is one", () => {
    const answer = (text: string) => `Here:\n\n\`\`\`\n${text}\n\`\`\`\n`;
    expect(readAnswer(answer("export const a = 1;"), ["a.ts"], {})).toEqual({
      written: { "a.ts": "export const a = 1;\n" },
    });
    expect(readAnswer(answer("5 passed in 0.1 s"), ["a.ts"], {})).toEqual({ returned: "not-whole" });
  });
});

describe("a text without a fence is the new file that was asked for", () => {
  test.each([
    [
      "a.py",
      `"""Greets.\n\nIt is simple.\n"""\nimport sys\n\n\n@cache\ndef greet(name):\n    return f"Hi {name}"\n\n\nif __name__ == "__main__":\n    print(greet(sys.argv[1]))\n`,
    ],
    ["a.py", "NAMES = [\n    'a',\n]\n# Prints.\nprint(NAMES)\n"],
    ["a.js", "export function a() {\n  return 1;\n}\n"],
    ["a.json", '{ "name": "a" }\n'],
  ])("%s: %j", (path, text) => {
    expect(isBareSource(path, text, parsesSource)).toBe(true);
  });

  test.each([
    ["a.py", "Here is the code:\n\ndef a():\n    pass\n"],
    ["a.py", "def a():\n    pass\n\nThis prints nothing.\n"],
    ["a.py", "def a():\n    return (1\n"],
    ["a.py", "Sorry"],
    ["a.py", "I cannot do that"],
    ["a.py", "from the list: take one"],
    ["a.js", "Sure"],
    ["a.js", "Create a function a() { return 1; }"],
    ["a.json", "no"],
    ["a.yaml", "Note: I need more"],
    ["a.md", "# Title\n"],
    ["a.go", "package a\nfunc A() {}\n"],
  ])("and nothing else: %s: %j", (path, text) => {
    expect(isBareSource(path, text, parsesSource)).toBe(false);
  });

  test.each([
    ["Create hello.py that prints hi", "hello.py"],
    ["src/util/a-b.ts を作ってください。", "src/util/a-b.ts"],
    ["See https://example.com/a.html and write x.py", "x.py"],
    ["Write a Node.js script, e.g. for ada@example.com, version 3.14", undefined],
    ["Create a.py and b.py", undefined],
    ["Change there.py", undefined],
  ])("%j asks for %p", (request, path) => {
    expect(filesInQuestion(request, [], (one) => one === "there.py")[0]).toBe(path);
  });
});

describe("what may be a part, an example or output goes back", () => {
  test.each([
    ["a part of the file", `\`\`\`python\ndef other():\n    pass\n\`\`\`\n`, "not-whole"],
    [
      "a file that ends in the middle",
      `\`\`\`python:leap.py\ndef leap_year(year):\n    return (year`,
      "not-whole",
    ],
    ["two bare blocks", `\`\`\`python\n${CODE}\`\`\`\nor\n\`\`\`python\n${CODE}\`\`\`\n`, "unread"],
    ["another language", `\`\`\`json\n{"a": 1}\n\`\`\`\n`, "unread"],
    ["another file above", `And in leap_test.py:\n\`\`\`python\n${CODE}\`\`\`\n`, "unread"],
    ["output", "```\n5 passed in 0.01s\n```\n", "not-whole"],
    [
      "two files in one block",
      `\`\`\`python\nleap.py\n${CODE}\nleap_test.py\nimport leap\n\`\`\`\n`,
      "unread",
    ],
    ["a mark of an edit", `\`\`\`python:leap.py\n<<<<<<< leap.py\n${CODE}=======\n${CODE}\`\`\`\n`, "mark"],
    ["a mark above code", `\`\`\`python:leap.py\n${CODE}=======\n\`\`\`\n`, "mark"],
    ["the copied example", "```python:leap.py\nall of the new content of leap.py\n```\n", "elision"],
    [
      "a file that shows part of another",
      IN_SECTIONS(`<file path="leap.py" lines="1-2">\n${CODE}</file>`),
      "unread",
    ],
  ])("%s", (_, answer, returned) => {
    expect(readAnswer(answer)).toEqual({ returned });
  });

  test("a reason in the patch is a reason, and a block above it an example", () => {
    const answer = `## Plan\nIt is right:\n\`\`\`python:leap.py\n${CODE}\`\`\`\n\n## Patch\nNo change: it works\n`;
    expect(readAnswer(answer)).toEqual({ returned: "empty" });
  });

  test("a block of a file that holds such an element is that file", () => {
    const text = '<file path="a">\nx\n</file>\n';
    expect(readAnswer(`\`\`\`xml:all.xml\n<all>\n${text}</all>\n\`\`\`\n`, [], {})).toEqual({
      written: { "all.xml": `<all>\n${text}</all>\n` },
    });
  });
});

const recorded = join(
  process.env.PICOCLAW_TEST_CONFORMANCE ?? join(import.meta.dir, "../../../../shared/conformance"),
  "../real-model/answers.jsonl",
);

if (!existsSync(recorded)) {
  test.skip("recorded answers: the file is absent (set PICOCLAW_TEST_CONFORMANCE)", () => {});
} else {
  interface Recorded {
    readonly exercise: string;
    readonly prompt: string;
    readonly answer: string;
  }
  const rows = readFileSync(recorded, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Recorded);

  /** A fence in a list is indented, and its code with it. */
  const plain = (text: string) => text.replace(/^[ \t]+/gm, "").trim();
  /** Code that a forgiving reader finds: each fenced text, and each side of the marks in it. */
  const codesOf = (answer: string) =>
    [
      ...answer.matchAll(/^[ \t]*`{3,}[^\n]*\n([\s\S]*?)(?:^[ \t]*`{3,}|$(?![\s\S]))/gm),
      ...answer.matchAll(/^<file path="[^"]+">\n([\s\S]*?)<\/file>/gm),
    ].map(([, body = ""]) => plain(body));

  function classify({ exercise, answer }: Recorded): string {
    const solution = `${exercise.replaceAll("-", "_")}.py`;
    const test = solution.replace(".py", "_test.py");
    const read = readProposal(answer, [solution]);
    if (read.kind === "needs-files") return "shows more";
    if (read.kind === "none") {
      if (looksLikePatch(read.text)) return "returned: unread";
      return /^\s*(?:def|class) /m.test(read.text) ? "LOST: code as words" : "words: asked for the patch";
    }
    if (!read.parsed.ok) return "returned: unread";
    const { commands, skipped = [] } = read.parsed;
    if (commands.length === 0)
      return skipped.length > 0
        ? "returned: skipped"
        : readNoChange(read.proposal.plan).reasons.length > 0
          ? "LOST: no change"
          : "words: asked for the patch";
    const doubts = doubtsOf(commands, { [solution]: "# stub\n", [test]: "# tests\n" });
    if (doubts.length > 0) return `returned: ${[...new Set(doubts.map(({ kind }) => kind))].join(" and ")}`;
    const files = commands.filter(({ type, edit }) => type === "file_edit" && edit === undefined);
    if (files.some(({ content }) => /^(?:<{7}|>{7}|={7}$)/m.test(content))) return "LOST: a mark is written";
    const codes = codesOf(answer);
    const isMeant = files.every(({ content }) =>
      codes.some((code) => code.includes(plain(content).split("\n").slice(0, 5).join("\n"))),
    );
    if (!isMeant) return "LOST: other code";
    const targets = commands.map(({ target }) => target.replace(/^\.\//, ""));
    return targets.includes(solution)
      ? "read: the solution"
      : targets.includes(test)
        ? "read: the tests"
        : "read: a file";
  }

  test.each([
    ["whole-file prompt", 241],
    ["default prompt", 341],
  ])("each answer to the %s is read as its code was meant, or goes back", (prompt, count) => {
    const all = rows.filter((row) => row.prompt === prompt).map(classify);
    expect(all).toHaveLength(count);
    const counts = Object.fromEntries(
      [...Map.groupBy(all, (kind) => kind)].map(([kind, same]) => [kind, same.length]),
    );
    expect(Object.keys(counts).filter((kind) => kind.startsWith("LOST"))).toEqual([]);
    expect(counts["read: the solution"] ?? 0).toBeGreaterThan(prompt === "default prompt" ? 70 : 190);
  });
}
