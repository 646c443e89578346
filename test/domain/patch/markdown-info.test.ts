import { describe, expect, test } from "bun:test";
import { readInfo } from "../../../src/domain/patch/formats/markdown/markdown.ts";

const FILES: readonly (readonly [info: string, path: string, language: string])[] = [
  ["go:pkg/a.go", "pkg/a.go", "go"],
  ["go: pkg/a.go", "pkg/a.go", "go"],
  ["c++:a b/c.cc", "a b/c.cc", "c++"],
  ["txt:日本/語.txt", "日本/語.txt", "txt"],
  ['ts:"a\\\\b \\"c\\".ts"', 'a\\b "c".ts', "ts"],
  ["ts:'it is.ts' extra", "it is.ts", "ts"],
  ['ts:"open', '"open', "ts"],
  ["ts:'open", "'open", "ts"],
  ["md:docs/a:b.md", "docs/a:b.md", "md"],
  ["Dockerfile:Dockerfile", "Dockerfile", "Dockerfile"],
  ["bash:run.sh", "run.sh", "bash"],
  ["diff:fix.patch", "fix.patch", "diff"],
  ["ts:/abs/a.ts", "/abs/a.ts", "ts"],
  ['ts title="src/a.ts"', "src/a.ts", "ts"],
  ["ts title='src/a b.ts'", "src/a b.ts", "ts"],
  ["ts {title=src/a.ts}", "src/a.ts", "ts"],
  ['ts subtitle="x.ts" file="b"', "b", "ts"],
  ["filename=Makefile", "Makefile", ""],
  ["py path=a.py", "a.py", "py"],
  ["src/a.ts", "src/a.ts", "ts"],
  ["./a.ts", "./a.ts", "ts"],
  ["ts a.ts", "a.ts", "ts"],
  ['ts "my file.ts"', "my file.ts", "ts"],
  ["bash scripts/x.py", "scripts/x.py", "bash"],
  ["sh x.sh", "x.sh", "sh"],
];

const OTHERS: readonly (readonly [info: string, expected: ReturnType<typeof readInfo>])[] = [
  ["", { kind: "unknown", tag: "" }],
  ["bash", { kind: "shell" }],
  ["BASH {1,2}", { kind: "shell" }],
  ["bash{1,2}", { kind: "shell" }],
  ["bash:", { kind: "shell" }],
  ["shell", { kind: "shell" }],
  ["sh", { kind: "shell", shell: "sh" }],
  ["zsh", { kind: "shell", shell: "zsh" }],
  ["console", { kind: "console" }],
  ["git", { kind: "git" }],
  ["diff", { kind: "diff" }],
  ["patch", { kind: "diff" }],
  ["json", { kind: "json" }],
  ['bash title="Install"', { kind: "shell" }],
  ["bash example.com", { kind: "shell" }],
  ["python", { kind: "unknown", tag: "python" }],
  ["a.ts", { kind: "unknown", tag: "a.ts" }],
  ["v1/2.0", { kind: "unknown", tag: "v1/2.0" }],
  ["and/or", { kind: "unknown", tag: "and/or" }],
  ["ts version 1.2", { kind: "unknown", tag: "ts" }],
  ["ts --flag.x", { kind: "unknown", tag: "ts" }],
  ["ts a.ts(3)", { kind: "unknown", tag: "ts" }],
  ["12:15:src/a.ts", { kind: "unknown", tag: "12:15:src/a.ts" }],
  [":src/a", { kind: "unknown", tag: ":src/a" }],
  ['ts "open.ts', { kind: "unknown", tag: "ts" }],
  ["x".repeat(6000), { kind: "unknown", tag: "x".repeat(40) }],
];

describe("an info string names a file: ", () => {
  for (const [info, path, language] of FILES)
    test(info, () => expect(readInfo(info)).toEqual({ kind: "file", path, language }));
});

describe("an info string names no file: ", () => {
  for (const [info, expected] of OTHERS)
    test(info.slice(0, 40), () => expect(readInfo(info)).toEqual(expected));
});
