import { describe, expect, test } from "bun:test";
import { gitBlock } from "../../../src/domain/patch/formats/markdown/command-blocks.ts";

type Row = readonly [
  line: string,
  ...operations: (readonly [action: string, target: string, content?: string])[],
];

const ROWS: readonly Row[] = [
  ["git add a", ["add", "a"]],
  ["add .", ["add", "."]],
  ["git add a\\ b 'c d' \"e f\"", ["add", "a b"], ["add", "c d"], ["add", "e f"]],
  ["git add -A src", ["add", "src"]],
  ["git add --all", ["add", "--all"]],
  ["git add -f x", ["add", "-f x"]],
  ["git add -- -x y", ["add", "./-x"], ["add", "y"]],
  ["git add", ["add", ""]],
  ["git commit", ["commit", "", ""]],
  ["git commit -m a", ["commit", "", "a"]],
  ["git commit -ma", ["commit", "", "a"]],
  ["git commit -qm 'a b'", ["commit", "", "a b"]],
  ["git commit --message a --message=b", ["commit", "", "a\n\nb"]],
  ["git commit -am x", ["add", "-u"], ["commit", "", "x"]],
  ["git commit -a", ["add", "-u"], ["commit", "", ""]],
  ["git commit --all --quiet -m x", ["add", "-u"], ["commit", "", "x"]],
  ["git commit -m", ["commit -m", ""]],
  ["git commit --amend --no-edit", ["commit --amend --no-edit", ""]],
  ["git commit -m x -- a.ts", ["commit -m x -- a.ts", ""]],
  ['git commit -m "a\\"b\\\\c\\n \\\nd"', ["commit", "", 'a"b\\c\\n d']],
  ["git commit -m 'line 1\n\nline 3'", ["commit", "", "line 1\n\nline 3"]],
  ["git commit -m 'a'\"b\"c", ["commit", "", "abc"]],
  ["git commit -m ''", ["commit", "", ""]],
  ["git commit -m 'a; b && c'; git add x", ["commit", "", "a; b && c"], ["add", "x"]],
  ["git reset", ["reset", "HEAD"]],
  ["git reset --hard", ["reset", "--hard"]],
  ["git reset HEAD 'a b'", ["reset", "HEAD 'a b'"]],
  ["git checkout main", ["checkout", "main"]],
  ['git checkout -- "it\'s"', ["checkout", "-- 'it'\\''s'"]],
  ["git add a && git commit -m b", ["add", "a"], ["commit", "", "b"]],
  ["git add \\\n  a \\\r\n  b", ["add", "a"], ["add", "b"]],
  ["git add a\r\ngit add b\r\n", ["add", "a"], ["add", "b"]],
  ["# note\n\n  # more\ngit add a # why\ngit add b#c", ["add", "a"], ["add", "b#c"]],
  ["$ git add a", ["add", "a"]],
  ["git", ["git", ""]],
  ["git -C x add y", ["-C", "x add y"]],
  ["git rm x", ["rm", "x"]],
  ["git add $X", ["git add $X", ""]],
  ['git add "$X"', ['git add "$X"', ""]],
  ["git add `ls`", ["git add `ls`", ""]],
  ["git log > out", ["git log > out", ""]],
  ["git gc &", ["git gc &", ""]],
  ["git add 'open", ["git add 'open", ""]],
  ['git add "open', ['git add "open', ""]],
  ["git add a\rb", ["add", "a\rb"]],
  ["  \n\n"],
];

describe("a git block: ", () => {
  for (const [line, ...expected] of ROWS)
    test(JSON.stringify(line), () => {
      const operations = gitBlock(line).map(({ type, action, target, content }) => [
        type,
        action,
        target,
        content,
      ]);
      expect(operations).toEqual(
        expected.map(([action, target, content = ""]) => ["git_operation", action, target, content]),
      );
    });

  test("several arguments stand exactly in the metadata", () => {
    expect(gitBlock("git checkout -- 'a b'")[0]?.metadata).toEqual({ args: '["--","a b"]' });
    expect(gitBlock("git checkout main")[0]?.metadata).toBeUndefined();
  });

  test("of an unreasonable size fails as one command", () => {
    expect(gitBlock("git add a\n".repeat(200_000))).toHaveLength(1);
  });
});
