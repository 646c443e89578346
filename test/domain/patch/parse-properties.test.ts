import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parsePatch } from "../../../src/domain/patch/parse-patch.ts";
import type { PatchCommand } from "../../../src/domain/patch/patch-command.ts";

/** Characters that mean something to one of the formats, so that random text reaches their corners. */
const FRAGMENTS = [
  ...'`~[]{}":,\\/$#*<>=+-@ \t\n\r.a0\0\uFEFF\uD800',
  "```",
  "````",
  "~~~",
  "\n```bash\n",
  "\n```md:a.md\n",
  "\n```git\n",
  "\n```diff\n",
  "\n```json\n",
  "\n- ",
  "\n1. ",
  '[{"type":"shell_command","action":"run","target":"ls"}]',
  '[{"type":"x","action":',
  '{"patch":"',
  "*** Begin Patch\n",
  "*** Update File: a\n",
  "*** End Patch\n",
  "<<<<<<< SEARCH\n",
  "=======\n",
  ">>>>>>> REPLACE\n",
  "diff --git a/a b/a\n",
  "--- a/a\n+++ b/a\n",
  "@@ -1,1 +1,1 @@\n",
  "git commit -m '",
  "日本",
];
const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ unit: "binary" })), { maxLength: 40 })
  .map((parts) => parts.join(""));

const text = fc.string({ unit: "binary", maxLength: 60 });
const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 });
const strings = fc.dictionary(fc.oneof(word, fc.constantFrom("__proto__", "constructor", "toString")), text, {
  maxKeys: 3,
});
const command: fc.Arbitrary<PatchCommand> = fc.record(
  {
    type: word,
    action: word,
    target: word,
    content: text,
    metadata: strings,
    env: strings,
    workdir: word,
    shell: word,
  },
  { requiredKeys: ["type", "action", "target", "content"] },
);

/** Lines that look like fences, headings and markers, as a file about Markdown would have them. */
const fileLine = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }).map((line) => line.replaceAll(/[\r\n]/g, " ")),
  fc.constantFrom(
    "",
    "```",
    "```bash",
    "~~~~",
    "## Patch",
    "  ````md:x.md",
    "    ```",
    "- item",
    "\t~~~",
    "=======",
    "@@ -1 +1 @@",
  ),
);
const fileText = fc
  .array(fc.tuple(fileLine, fc.constantFrom("\n", "\r\n")))
  .map((lines) => lines.flat().join(""));
const path = fc
  .array(fc.constantFrom("src", "my dir", "資料", "a.ts", "[id]", "c++", "x-y_z"), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => `${parts.join("/")}/f.ts`);

/** A fence longer than any run of its mark in the text. */
function fenced(mark: "`" | "~", info: string, body: string): string {
  const runs = body.match(mark === "`" ? /`+/g : /~+/g) ?? [];
  const fence = mark.repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${fence}${info}\n${body}${fence}\n`;
}

describe("for any text", () => {
  test("parsing never throws, and a failure says why", () => {
    fc.assert(
      fc.property(fc.oneof(hostileText, fc.string({ unit: "binary", maxLength: 300 })), (source) => {
        const result = parsePatch(source);
        if (!result.ok) expect(result.failure.message).not.toBe("");
      }),
      { numRuns: 3000 },
    );
  });

  test("a valid patch with a piece cut out, doubled or replaced never throws", () => {
    const valid = fc.oneof(
      fc.array(command, { maxLength: 4 }).map((commands) => JSON.stringify(commands, null, 1)),
      fc
        .array(fc.tuple(path, fileText), { maxLength: 4 })
        .map((files) => files.map(([name, body]) => `Text\n\n${fenced("`", `ts:${name}`, body)}`).join("\n")),
    );
    const cut = fc.tuple(fc.nat(), fc.nat(60), fc.oneof(fc.constantFrom("", ...FRAGMENTS), text));
    fc.assert(
      fc.property(valid, cut, (source, [at, length, piece]) => {
        const from = source.length === 0 ? 0 : at % source.length;
        expect(parsePatch(source.slice(0, from) + piece + source.slice(from + length))).toHaveProperty("ok");
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a written patch is read back", () => {
  test("commands through JSON, amid prose or in a fence as well", () => {
    const around = fc.constantFrom(
      (json: string) => json,
      (json: string) => ` \n${json}\n`,
      (json: string) => `Here you are [1]: ${json} – done [2].\n`,
      (json: string) => `Text\n\n${fenced("~", "json", `${json}\n`)}More text.\n`,
      (json: string) => JSON.stringify({ plan: "p", patch: json, risk: "low" }),
    );
    fc.assert(
      fc.property(fc.array(command, { minLength: 1, maxLength: 5 }), around, (commands, wrap) => {
        const result = parsePatch(wrap(JSON.stringify(commands)));
        expect(result).toEqual({ ok: true, commands, warnings: [], format: "json" });
      }),
    );
  });

  test("files of any text through fences that are long enough", () => {
    const mark = fc.constantFrom("`" as const, "~" as const);
    fc.assert(
      fc.property(fc.array(fc.tuple(path, fileText, mark), { minLength: 1, maxLength: 4 }), (files) => {
        const reply = files
          .map(([name, body, m]) => `## Step\n\n${fenced(m, `ts:${name}`, body)}`)
          .join("\nThen:\n\n");
        const result = parsePatch(reply);
        if (!result.ok) throw new Error(result.failure.message);
        expect(result.commands.map(({ target, content }) => [target, content])).toEqual(
          files.map(([name, body]) => [name, body]),
        );
        expect(result.warnings).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("files through fences inside list items", () => {
    fc.assert(
      fc.property(path, fileText, fc.integer({ min: 1, max: 3 }), (name, body, gap) => {
        const indent = " ".repeat(2 + gap);
        const block = fenced("~", `ts:${name}`, body).split("\n").slice(0, -1);
        const result = parsePatch(
          `1.${" ".repeat(gap)}Do this\n\n${block.map((line) => `${indent}${line}\n`).join("")}`,
        );
        if (!result.ok) throw new Error(result.failure.message);
        expect(result.commands.map(({ content }) => content)).toEqual([body]);
      }),
      { numRuns: 500 },
    );
  });
});
