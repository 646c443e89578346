import { describe, expect, test } from "bun:test";
import { doubtfulEdits } from "../../../src/domain/drafts/check-edits.ts";
import { parsePatch } from "../../../src/domain/patch/parse-patch.ts";
import type { FileEntry } from "../../../src/domain/patch/patch-command.ts";

const LONG = Array.from({ length: 80 }, (_, at) => `line ${at}`).join("\n");

function doubtsOf(
  patch: string,
  files: Readonly<Record<string, string>>,
  { shown = [] as readonly string[], told = [] as readonly string[] } = {},
) {
  const parsed = parsePatch(patch);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return doubtfulEdits(
    parsed.commands,
    {
      judges: (path) => path !== ".env",
      look: (path): FileEntry => {
        const text = files[path];
        return text === undefined
          ? { kind: "missing" }
          : { kind: "file", bytes: Buffer.from(text), mode: 0o644 };
      },
    },
    { shown: (path) => shown.includes(path), told: (path) => told.includes(path) },
  );
}

const whole = (path: string, text: string) => `\`\`\`ts:${path}\n${text}\n\`\`\``;
const edit = (path: string, before: string, after: string) =>
  `${path}\n\`\`\`\n<<<<<<< SEARCH\n${before}\n=======\n${after}\n>>>>>>> REPLACE\n\`\`\``;

describe("a whole file", () => {
  test("that exists and was not shown is doubted, a new one is not", () => {
    expect(doubtsOf(whole("a.ts", "new"), { "a.ts": "old\n" })).toEqual([{ kind: "unseen", path: "a.ts" }]);
    expect(doubtsOf(whole("a.ts", "new"), {})).toEqual([]);
    expect(doubtsOf(whole("a.ts", "new"), { "a.ts": "\n" })).toEqual([]);
    expect(doubtsOf(whole("a.ts", "new"), { "a.ts": "old\n" }, { shown: ["a.ts"] })).toEqual([]);
  });

  test("that is written twice is doubted if nothing of the first text is left", () => {
    expect(doubtsOf(`${whole("a.txt", "one")}\n${whole("a.txt", "two")}`, {})).toEqual([
      { kind: "not-whole", path: "a.txt", names: [] },
    ]);
    expect(doubtsOf(`${whole("a.txt", "one")}\n${whole("a.txt", "one\ntwo")}`, {})).toEqual([]);
  });

  test("that is not judged is not", () => {
    expect(doubtsOf(whole(".env", "new"), { ".env": "old\n" })).toEqual([]);
  });

  test("that shrinks to a fraction is doubted once", () => {
    const files = { "a.ts": LONG };
    expect(doubtsOf(whole("a.ts", "line 1"), files, { shown: ["a.ts"] })).toEqual([
      { kind: "shrinks", path: "a.ts", from: 80, to: 2 },
    ]);
    expect(doubtsOf(whole("a.ts", "line 1"), files, { shown: ["a.ts"], told: ["a.ts"] })).toEqual([]);
    expect(doubtsOf(whole("a.ts", LONG.slice(0, 400)), files, { shown: ["a.ts"] })).toEqual([]);
  });
});

test("a name with the mask of a secret is not written as it is, unless it exists so", () => {
  const masked = (path: string) => [{ kind: "masked" as const, path }];
  const path = "src/ghp_****/new.ts";
  expect(doubtsOf(whole(path, "new"), {}, { told: [path] })).toEqual(masked(path));
  expect(doubtsOf(edit(`./${path}`, "old", "new"), {})).toEqual(masked(path));
  expect(doubtsOf(whole(path, "new"), { "src/ghp_****": "" })).toEqual([]);
  expect(doubtsOf(whole("src/**/new.ts", "new"), {})).toEqual([]);
});

describe("a placeholder for code", () => {
  test.each([
    "// ... existing code ...",
    "  # ... rest of the file unchanged",
    "/* ... remaining methods ... */",
    "<!-- … rest of the page -->",
    "... (unchanged) ...",
    "// ... 既存のコード ...",
    "// …以下省略",
    "{/* ... existing items ... */}",
  ])("%s is found in a whole file and in a replacement", (mark) => {
    const doubt = { kind: "elision", path: "a.ts", line: mark.trim() } as const;
    expect(doubtsOf(whole("a.ts", `one\n${mark}\ntwo`), {})).toEqual([doubt]);
    expect(doubtsOf(edit("a.ts", "one", `one\n${mark}`), { "a.ts": "one\n" })).toEqual([doubt]);
  });

  test.each([
    "const all = [...rest];",
    "// ... and so on",
    "f(...args, ...others)",
    "// existing code is kept",
  ])("%s is none", (line) => {
    expect(doubtsOf(edit("a.ts", "one", line), { "a.ts": "one\n" })).toEqual([]);
  });

  test("one that the file had before may stay", () => {
    const mark = "// ... existing code ...";
    expect(doubtsOf(edit("a.ts", "one", `two\n${mark}`), { "a.ts": `one\n${mark}\n` })).toEqual([]);
  });
});
