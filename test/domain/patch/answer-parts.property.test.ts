/** Each fence, path line and patch marker of a coder's answer is in a command, in the list of skipped parts, or fails the whole. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { readProposal } from "../../../src/domain/coder/proposal.ts";
import { parseAnswer, parsePatch } from "../../../src/domain/patch/parse-patch.ts";

/** A part of an answer whose content has a text that occurs nowhere else. */
interface Part {
  readonly text: string;
  readonly tell: string;
}

const FENCES = ["```", "````", "~~~"] as const;
const PATHS = ["src/a.py", "lib/b.ts", "c.json", "docs/d e.md", "資料/f.txt", "Makefile", "run.sh"] as const;
const LINES = [
  (path: string) => path,
  (path: string) => `**${path}**`,
  (path: string) => `\`${path}\``,
  (path: string) => `### \`${path}\``,
  (path: string) => `File: ${path}`,
  (path: string) => `- **File: \`${path}\`** (new)`,
  (path: string) => `${path}:`,
] as const;
const TAGS = ["", "python", "ts", "json", "text", "bash", "console", "output", "c++"] as const;

type Make = (mark: string, path: string, at: number) => string;
const pick = <One>(list: readonly One[], at: number) => list[at % list.length] as One;

const KINDS: Readonly<Record<string, Make>> = {
  file: (mark, path, at) => `${pick(FENCES, at)}txt:${path}\n${mark}\n${pick(FENCES, at)}`,
  beside: (mark, path, at) =>
    `${pick(LINES, at)(path)}\n${at % 2 === 0 ? "" : "\n"}${pick(FENCES, at)}${pick(TAGS, at)}\n${mark}\n${pick(FENCES, at)}`,
  loose: (mark, _, at) => `Like this:\n${pick(FENCES, at)}${pick(TAGS, at)}\n${mark}\n${pick(FENCES, at)}`,
  indented: (mark, path, at) =>
    `Text.\n\n      ${pick(FENCES, at)}py:${path}\n      ${mark}\n      ${pick(FENCES, at)}`,
  listed: (mark, path) => `- Change:\n  \`\`\`txt:${path}\n  ${mark}\n  \`\`\``,
  commented: (mark, path) => `<!--\n\`\`\`txt:${path}\n${mark}\n\`\`\`\n-->`,
  searchReplace: (mark, path) => `${path}\n<<<<<<< SEARCH\nold\n=======\n${mark}\n>>>>>>> REPLACE`,
  fencedSearchReplace: (mark, path) =>
    `${path}\n\`\`\`\n<<<<<<< SEARCH\nold\n=======\n${mark}\n>>>>>>> REPLACE\n\`\`\``,
  v4a: (mark, path) => `*** Begin Patch\n*** Update File: ${path}\n@@\n-old\n+${mark}\n*** End Patch`,
  diff: (mark, path) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+${mark}\n`,
  fencedDiff: (mark, path) => `\`\`\`diff\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+${mark}\n\`\`\``,
  json: (mark, path) =>
    `\`\`\`json\n${JSON.stringify([{ type: "file_edit", action: "create", target: path, content: mark }])}\n\`\`\``,
  shell: (mark) => `\`\`\`bash\necho ${mark}\n\`\`\``,
  unmarked: (mark, path) => `<<<<<<< ${path} ${mark}\nold`,
  alone: (mark) => `src/${mark}.py\n\nAnd so on.`,
  mixedFence: (mark, path) =>
    `\`\`\`\n*** Begin Patch\n*** Delete File: x${path}\n*** End Patch\n<<<<<<< SEARCH ${mark}\n\`\`\``,
};
const NAMES = Object.keys(KINDS);

const part = fc
  .tuple(fc.constantFrom(...NAMES), fc.constantFrom(...PATHS), fc.nat(100))
  .map(([kind, path, at]) => ({ kind, path, at }));
const prose = fc.constantFrom("", "Then:\n", "Some words about it.\n\n", "## Notes\n", "1. one\n2. two\n\n");

function write(
  all: readonly { readonly kind: string; readonly path: string; readonly at: number }[],
  between: readonly string[],
) {
  const parts = all.map(({ kind, path, at }, index): Part => {
    const tell = `unique_${index}_`;
    return { tell, text: (KINDS[kind] as Make)(tell, path, at) };
  });
  const text = parts.map((one, index) => `${between[index] ?? ""}${one.text}\n`).join("\n");
  return { parts, text };
}

/** Whether a command holds the text; edits keep it in their hunks. */
function holds(commands: readonly object[], tell: string): boolean {
  return JSON.stringify(commands).includes(tell);
}

describe("of any mix of the five formats, no part is lost", () => {
  test("in an answer of parts with a text of their own", () => {
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 6 }),
        fc.array(prose, { maxLength: 6 }),
        (all, between) => {
          const { parts, text } = write(all, between);
          const parsed = parseAnswer(text);
          if (!parsed.ok) return;
          const lines = text.split("\n");
          for (const { tell } of parts) {
            if (holds(parsed.commands, tell)) continue;
            const from = lines.findIndex((line) => line.includes(tell)) + 1;
            const near = (parsed.skipped ?? []).some(({ line }) => line <= from && from - line <= 2);
            if (!near) throw new Error(`lost: ${tell}\n${text}\n${JSON.stringify(parsed.skipped)}`);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("and a user's patch is read without the list", () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (all) => {
        const parsed = parsePatch(write(all, []).text);
        if (parsed.ok) expect(parsed).not.toHaveProperty("skipped");
      }),
      { numRuns: 300 },
    );
  });
});

describe("what an answer does not carry out is named by its first line", () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ["a block without a path", "```python\ndef a():\n```", ["```python def a():"]],
    ["a block in a comment", "<!--\n```txt:a\nx\n```\n-->", ["```txt:a x"]],
    ["a path without a block", "src/lost.py", ["src/lost.py"]],
    ["a mark of an edit without its end", "<<<<<<< src/a.py\nx", ["<<<<<<< src/a.py"]],
    ["quoted lines of a file", "```12:15:src/a.ts\nx\n```", ["```12:15:src/a.ts x"]],
  ];
  test.each(cases)("%s", (_, text, expected) => {
    const parsed = parseAnswer(`\`\`\`txt:kept.txt\nkept\n\`\`\`\n\n${text}\n`);
    expect(parsed.ok && parsed.skipped?.map((one) => one.text)).toEqual([...expected]);
  });

  test("a list of changed files is no part of the patch", () => {
    const parsed = parseAnswer("Changed:\n\n- `kept.txt`\n\n```txt:kept.txt\nkept\n```\n\nkept.txt\n");
    expect(parsed.ok && parsed.skipped).toEqual([]);
  });

  test.each([
    "Output:",
    "### Version 1.2",
    "https://a.example/b.txt",
    "Run it with `npm test`",
    "e.g.",
    "and/or",
  ])("%j is no path line", (line) => {
    const parsed = parseAnswer(`\`\`\`txt:kept.txt\nkept\n\`\`\`\n\n${line}\n\`\`\`text\nx\n\`\`\`\n`);
    expect(parsed.ok && parsed.commands).toHaveLength(1);
    expect(parsed.ok && parsed.skipped).toHaveLength(1);
  });

  test.each(["# leap.py", "// leap.py", "<!-- leap.py -->"])(
    "a first line %j names the file of its block",
    (line) => {
      const parsed = parseAnswer(`\`\`\`python\n${line}\nx = 1\n\`\`\`\n`);
      expect(parsed).toMatchObject({
        commands: [{ target: "leap.py", content: `${line}\nx = 1\n` }],
        skipped: [],
      });
    },
  );

  test("a first line that is an ordinary comment names no file", () => {
    expect(parseAnswer("```python\n# Add the numbers.\nx = 1\n```\n").ok).toBe(false);
  });

  test("a shell block is a file only under a path with a shell's ending", () => {
    const under = (path: string) => parseAnswer(`\`${path}\`\n\`\`\`bash\nls\n\`\`\`\n`);
    expect(under("bin/run.sh")).toMatchObject({
      commands: [{ type: "file_edit", target: "bin/run.sh", content: "ls\n" }],
    });
    expect(under("bin/run.py")).toMatchObject({ commands: [{ type: "shell_command", target: "ls" }] });
  });
});

const recorded = join(
  process.env.PICOCLAW_TEST_CONFORMANCE ?? join(import.meta.dir, "../../../../shared/conformance"),
  "../real-model/answers.jsonl",
);

if (!existsSync(recorded)) {
  test.skip("recorded answers: the file is absent (set PICOCLAW_TEST_CONFORMANCE)", () => {});
} else {
  test("no part of a recorded answer is lost", () => {
    const answers = readFileSync(recorded, "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly answer: string }).answer);
    const lost = answers.flatMap((answer) => {
      const read = readProposal(answer);
      if (read.kind !== "proposal" || !read.parsed.ok) return [];
      const { commands, skipped = [] } = read.parsed;
      const said = skipped.map(({ text }) => text).join("\n");
      const kept = JSON.stringify(commands.map(({ content, target }) => [content, target]));
      return read.proposal.patch
        .split("\n")
        .filter((line, at, all) => {
          if (!/^\s*(?:`{3,}|~{3,})\S/.test(line) || kept.includes(JSON.stringify(line).slice(1, -1)))
            return false;
          const body = all[at + 1]?.trim() ?? "";
          return (
            !said.includes(line.trim().slice(0, 60)) && !kept.includes(JSON.stringify(body).slice(1, -1))
          );
        })
        .map((line) => `${line} in ${answer.slice(0, 200)}`);
    });
    expect(answers.length).toBeGreaterThan(500);
    expect(lost).toEqual([]);
  });
}
