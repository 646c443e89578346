import { expect, test } from "bun:test";
import fc from "fast-check";
import { diffLines } from "../../../src/adapters/cli/terminal-card.ts";
import { diffLines as diffMarkup, fileDiffs } from "../../../src/adapters/web/diff-view.ts";
import { diffText } from "../../../src/application/jobs/job-facts.ts";
import { isBinaryContent } from "../../../src/domain/patch/compare-lines.ts";
import { parseUnifiedDiff } from "../../../src/domain/patch/formats/unified-diff/unified-diff.ts";
import { terminalMessagesFor } from "../../../src/domain/texts/cli-terminal.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";

/** The loose object that git wrote for a small source file. It has no NUL byte. */
const OBJECT = Uint8Array.from(
  Buffer.from(
    "eAElyEEKgzAQBVDXOcVfJipid4Wid4lxCgFNdJyBFundlXT53rTkCY/+WdFnyyx4awoSc4Jk8YuNQuvhcBqASZQTynRMsway9tC1LeUwjLiFprDbOAZC/ceuPkmUb4vevczPXEAnJxA=",
    "base64",
  ),
);

test("an object of git is binary with or without a NUL byte; texts in older encodings and with colours are texts", () => {
  const latin = Uint8Array.from([0x63, 0x61, 0x66, 0xe9, 0x0a]);
  const shiftJis = Uint8Array.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x0a]);
  const cutInside = new TextEncoder().encode(`\u0001${"あ".repeat(4_000)}`);
  const found = [
    OBJECT,
    Uint8Array.from([0x61, 0]),
    latin,
    shiftJis,
    new TextEncoder().encode("\u001b[31mred\u001b[0m\f\u0001"),
    cutInside,
    new Uint8Array(),
  ].map(isBinaryContent);
  expect(found).toEqual([true, true, false, false, false, false, false]);
});

test("a binary file is named with its size in the diffs of terminal, console and chat", async () => {
  const path = "objects/4b825dc642cb6eb9a060e54bf8d69288fbee4904";
  const differences = [
    { path, before: null, after: OBJECT },
    { path: "gone.bin", before: OBJECT, after: null },
  ];
  const size = OBJECT.length;
  expect(diffLines(differences, terminalMessagesFor("en"))).toEqual([
    { kind: "file", path, added: 0, removed: 0 },
    { kind: "note", text: `binary file, ${size} bytes` },
    { kind: "file", path: "gone.bin", added: 0, removed: 0 },
    { kind: "note", text: `binary file, ${size} bytes` },
  ]);
  expect(await diffText(differences)).toBe(
    `# ${path}: binary file, ${size} bytes\n# gone.bin: binary file, ${size} bytes, deleted\n`,
  );
  const [file] = await fileDiffs(differences);
  expect(String(diffMarkup(consoleMessagesFor("ja"), file!, "inline"))).toContain(
    `バイナリファイル（${size} バイト）です。`,
  );
});

test("a card counts the files of git's own folder after the change itself", () => {
  const differences = [
    { path: ".git/HEAD", before: null, after: Buffer.from("ref: refs/heads/main\n") },
    { path: ".git/objects/01/d255766b", before: null, after: OBJECT },
    { path: "a.txt", before: null, after: Buffer.from("one\n") },
  ];
  expect(diffLines(differences, terminalMessagesFor("en"))).toEqual([
    { kind: "file", path: "a.txt", added: 1, removed: 0 },
    { kind: "added", number: 1, pieces: [{ text: "one", isChanged: false, kind: "plain" }] },
    { kind: "note", text: ".git/ · 2 files changed" },
  ]);
});

test("a diff is read back as a diff of its own file, whatever that is called", async () => {
  const pieces = ["a", "é", " ", "\n", "\t", "\r", '"', "\\", "\x1b[2J", "\x7f", "\u202e", "\u2028", "-"];
  const headers = ["--- a", "+++ b", "\n@@ -1 +1 @@\n-good\n+evil", " 2026-01-02 03:04:05", "#", "a"];
  const part = fc.array(fc.constantFrom(...pieces, ...headers), { minLength: 1, maxLength: 6 });
  const names = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => {
    return parts.map((one) => one.join("")).join("/");
  });
  const before = Buffer.from("one\n");
  await fc.assert(
    fc.asyncProperty(names, async (path) => {
      const text = await diffText([{ path, before, after: Buffer.from("two\n") }]);
      expect(text.split("\n")).toHaveLength(6);
      const parsed = parseUnifiedDiff(text);
      expect(parsed).toMatchObject({ ok: true, files: [{ oldPath: path, newPath: path }] });
      const named = await diffText([{ path, before: null, after: OBJECT }]);
      expect(named.split("\n")).toHaveLength(2);
    }),
  );
});
