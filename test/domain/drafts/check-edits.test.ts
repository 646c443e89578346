import { expect, test } from "bun:test";
import { checkEdits, indexLines, meantLines } from "../../../src/domain/drafts/check-edits.ts";
import { parsePatch } from "../../../src/domain/patch/parse-patch.ts";
import type { FileEntry } from "../../../src/domain/patch/patch-command.ts";

const OPTIONS = { inflate: (data: Uint8Array) => data, sha1: () => "" };

function check(files: Readonly<Record<string, string>>, patch: string, hidden: readonly string[] = []) {
  const parsed = parsePatch(patch);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const looked: string[] = [];
  const source = {
    judges: (path: string) => !hidden.includes(path),
    look(path: string): FileEntry {
      looked.push(path);
      const text = files[path];
      return text === undefined
        ? { kind: "missing" }
        : { kind: "file", bytes: Buffer.from(text), mode: 0o644 };
    },
  };
  return { ...checkEdits(parsed.commands, source, OPTIONS), looked };
}

const swap = (path: string, before: string, after: string) =>
  `${path}\n\`\`\`\n<<<<<<< SEARCH\n${before}\n=======\n${after}\n>>>>>>> REPLACE\n\`\`\`\n`;

test("edits that match are good, and one that does not is reported with its nearest place", () => {
  expect(check({ "a.txt": "one\ntwo\n" }, swap("a.txt", "two", "three")).ok).toBe(true);
  const bad = check({ "a.txt": "one\ntwo little words here\n" }, swap("a.txt", "two small words here", "x"));
  expect(bad).toMatchObject({ ok: false, failed: 1 });
  expect("report" in bad ? bad.report : "").toContain("two little words here");
});

test("an edit is tried on what earlier commands of the patch leave", () => {
  expect(
    check({}, `\`\`\`txt:a.txt\none\n\`\`\`\n${swap("a.txt", "one", "two")}${swap("a.txt", "two", "three")}`)
      .ok,
  ).toBe(true);
  expect(check({ "a.txt": "one\n" }, swap("a.txt", "one", "two") + swap("a.txt", "one", "three")).ok).toBe(
    false,
  );
  const commands = [
    { type: "file_edit", action: "rename", target: "a.txt", content: "b.txt" },
    { type: "file_edit", action: "copy", target: "b.txt", content: "c.txt" },
    { type: "file_edit", action: "append", target: "c.txt", content: "more\n" },
    { type: "file_edit", action: "delete", target: "b.txt" },
  ];
  const patch = (path: string) => `${JSON.stringify(commands)}\n\n${swap(path, "one\nmore", "x")}`;
  expect(check({ "a.txt": "one\n" }, patch("c.txt")).ok).toBe(true);
  expect(check({ "a.txt": "one\n" }, patch("b.txt")).ok).toBe(false);
  expect(check({ "a.txt": "one\n" }, patch("a.txt")).ok).toBe(false);
});

test("after a program the files are unknown, so nothing is judged", () => {
  expect(check({}, `\`\`\`bash\nmake\n\`\`\`\n${swap("made.txt", "one", "two")}`).ok).toBe(true);
});

test("a path that is not to be judged is not even looked at", () => {
  const checked = check({ ".env": "KEY=1\n" }, swap(".env", "KEY=2", "x"), [".env"]);
  expect(checked).toEqual({ ok: true, looked: [] });
});

test("diffs and V4A patches are tried as well", () => {
  const diff = "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n```\n";
  expect(check({ "a.txt": "one\n" }, diff).ok).toBe(true);
  expect(check({ "a.txt": "ten\n" }, diff).ok).toBe(false);
  const v4a =
    "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Delete File: b.txt\n*** End Patch\n";
  expect(check({ "a.txt": "one\n", "b.txt": "" }, v4a).ok).toBe(true);
  expect(check({ "a.txt": "ten\n", "b.txt": "" }, v4a).ok).toBe(false);
});

test("an edit without a likely place is meant where its telling lines stand, once each", () => {
  const parsed = parsePatch(swap("a.ts", "function areIdentical() {\n  return 1;\n}", "x"));
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const { commands } = parsed;
  const text = "one\nreturn 1;\nfunction areIdentical() {\n  return 1;\n  return 2;\n}\n";
  expect(meantLines(commands, "a.ts", indexLines(text), "a.ts hunk 1: not-found")).toEqual([3]);
  expect(
    meantLines(commands, "a.ts", indexLines(text), "The nearest lines:\n  line 5 (80 % alike)\n    5| x"),
  ).toEqual([5]);
});
