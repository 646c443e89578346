/** Texts made to be slow or deep. Time is judged by how it grows, not by the clock of this machine. */
import { describe, expect, test } from "bun:test";
import { readProposal } from "../../../src/domain/coder/proposal.ts";
import { parsePatch, refuseLongPatch } from "../../../src/domain/patch/parse-patch.ts";

/** `make(n)` has a size proportional to n; n is chosen so that a quadratic parser would take minutes at 2n. */
interface Shape {
  readonly name: string;
  readonly n: number;
  readonly make: (n: number) => string;
}

const SHAPES: readonly Shape[] = [
  { name: "open brackets", n: 500_000, make: (n) => "[".repeat(n) },
  { name: "brackets that close", n: 500_000, make: (n) => "[".repeat(n) + "]".repeat(n) },
  { name: "objects that never close", n: 200_000, make: (n) => '[{"type":'.repeat(n) },
  { name: "array starts in prose", n: 200_000, make: (n) => `x ${'[{"a[{'.repeat(n)}` },
  { name: "array starts on their own lines", n: 200_000, make: (n) => `x\n${'[{"a\n'.repeat(n)}` },
  { name: "brackets before white space", n: 400_000, make: (n) => `x\n${"[\n".repeat(n)}` },
  {
    name: "lines just shorter than the fence",
    n: 300,
    make: (n) => `${"`".repeat(5000)}ts:a.ts\n${`${"`".repeat(4999)}\n`.repeat(n)}`,
  },
  { name: "unclosed fences", n: 200_000, make: (n) => "```ts:a.ts\n".repeat(n) },
  {
    name: "fences that grow",
    n: 2_000,
    make: (n) => Array.from({ length: n }, (_, i) => `${"`".repeat(3 + (i % 999))}\n`).join(""),
  },
  { name: "unknown blocks", n: 100_000, make: (n) => "```x\n```\n".repeat(n) },
  {
    name: "fence marks in one line of a block",
    n: 300_000,
    make: (n) => `\`\`\`ts:a.ts\n${"x ``` ".repeat(n)}`,
  },
  {
    name: "Markdown files that do not pair up",
    n: 30_000,
    make: (n) => "```md:a.md\n```js\n```\n".repeat(n),
  },
  { name: "diff blocks closed one column in", n: 20_000, make: (n) => "```diff\n\n ```\n".repeat(n) },
  { name: "list items in list items", n: 100_000, make: (n) => `${"- ".repeat(n)}\n${"- a\n".repeat(n)}` },
  { name: "SEARCH without REPLACE", n: 100_000, make: (n) => "a.ts\n<<<<<<< SEARCH\nx\n".repeat(n) },
  { name: "fenced SEARCH without REPLACE", n: 50_000, make: (n) => "```\n<<<<<<< SEARCH\n```\n".repeat(n) },
  { name: "V4A beginnings", n: 100_000, make: (n) => "*** Begin Patch\n".repeat(n) },
  { name: "fenced V4A without an end", n: 50_000, make: (n) => "```\n*** Begin Patch\n```\n".repeat(n) },
  {
    name: "V4A patches in one fence",
    n: 10_000,
    make: (n) => `\`\`\`\n${"*** Begin Patch\n*** Delete File: a\n*** End Patch\n".repeat(n)}`,
  },
  { name: "padded V4A ends", n: 50_000, make: (n) => `*** Begin Patch\n${" *** End Patch\n".repeat(n)}` },
  {
    name: "SEARCH/REPLACE marks of unequal length",
    n: 10_000,
    make: (n) => "a.ts\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>> REPLACE\n".repeat(n),
  },
  {
    name: "fenced SEARCH/REPLACE blocks",
    n: 10_000,
    make: (n) => "a.ts\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n".repeat(n),
  },
  {
    name: "the words SEARCH and REPLACE",
    n: 50_000,
    make: (n) => `a.ts\n<<<<<<< SEARCH\n${"SEARCH REPLACE\n".repeat(n)}`,
  },
  {
    name: "diffs between fences",
    n: 5_000,
    make: (n) => "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n```\n```\n".repeat(n),
  },
  { name: "diff headers", n: 50_000, make: (n) => "--- a/a\n+++ b/a\n".repeat(n) },
  {
    name: "quotes in a git block",
    n: 100_000,
    make: (n) => `\`\`\`git\n${"git commit -m 'a\n".repeat(n)}`,
  },
  { name: "NUL and lone surrogates", n: 500_000, make: (n) => `\`\`\`ts:a.ts\n${"\0\uD800".repeat(n)}` },
  {
    name: "commands",
    n: 100_000,
    make: (n) => `[${'{"type":"t","action":"a","target":"x"},'.repeat(n).slice(0, -1)}]`,
  },
  { name: "blocks", n: 50_000, make: (n) => "```sh\nls\n```\n".repeat(n) },
  { name: "blank lines", n: 1_000_000, make: (n) => `x${"\n".repeat(n)}` },
];

/** Answers of a model, whose sections are read before its patch is. */
const ANSWERS: readonly Shape[] = [
  { name: "empty lines in a patch", n: 100_000, make: (n) => `## Patch\n${"\n".repeat(n)}x` },
  { name: "empty lines in a check", n: 100_000, make: (n) => `## Patch\n## Check\n${"\n".repeat(n)}x` },
  { name: "empty lines in flags", n: 100_000, make: (n) => `## Patch\n## Flags\n${"\n".repeat(n)}x` },
  { name: "carriage returns in a patch", n: 100_000, make: (n) => `## Patch\n${"\r".repeat(n)}x` },
  { name: "spaces in a heading", n: 100_000, make: (n) => `## a${" ".repeat(n)}*` },
  { name: "spaces after a name", n: 100_000, make: (n) => `## Plan${" ".repeat(n)}x` },
  { name: "hashes in a heading", n: 100_000, make: (n) => `## a: ${"# ".repeat(n)}x` },
];

function timeOf(read: (source: string) => unknown, source: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 2; i++) {
    const start = performance.now();
    read(source);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

describe("time grows with the text, not with its square", () => {
  const patches = SHAPES.map((shape) => ({ ...shape, read: parsePatch }));
  const answers = ANSWERS.map((shape) => ({ ...shape, read: readProposal }));
  for (const { name, n, make, read } of [...patches, ...answers]) {
    test(name, () => {
      const [small, large] = [make(n / 4), make(n / 2)];
      // A busy machine can spoil one comparison, a quadratic parser spoils them all.
      let growth = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 5 && growth >= 3.5; i++) {
        const [one, two] = [timeOf(read, small), timeOf(read, large)];
        // Below 20 ms the clock says little; a quadratic parser is far above it at these sizes.
        growth = two > 20 ? two / one : 0;
      }
      expect(growth).toBeLessThan(3.5);
    }, 300_000);
  }
});

test("a hundred thousand commands are a hundred thousand commands", () => {
  const json = parsePatch(SHAPES.find(({ name }) => name === "commands")!.make(100_000));
  const blocks = parsePatch(SHAPES.find(({ name }) => name === "blocks")!.make(100_000));
  expect([json, blocks].map((result) => (result.ok ? result.commands.length : result.failure))).toEqual([
    100_000, 100_000,
  ]);
});

test("a text beyond the limit is refused by its size", () => {
  const result = parsePatch(" ".repeat(65 * 1024 * 1024));
  expect(result).toMatchObject({ ok: false, failure: { code: "too-large" } });
});

test("warnings about very many blocks are summed up", () => {
  const result = parsePatch(`${"```x\n```\n".repeat(5000)}\`\`\`bash\nls\n\`\`\`\n`);
  if (!result.ok) throw new Error(result.failure.message);
  expect(result.warnings).toHaveLength(101);
  expect(result.warnings.at(-1)).toBe("… and 4900 more warnings");
});

test("a deeply nested value is described, not printed", () => {
  const deep = `${"[".repeat(900)}${"]".repeat(900)}`;
  expect(parsePatch(`[{"type":"t","action":"a","target":${deep}}]`)).toMatchObject({
    ok: false,
    failure: { message: "command[0]: target must be a string, got an array", value: "[…]" },
  });
});

test("a server takes a patch of as many lines and brackets as it reads in a moment", () => {
  for (const [piece, what] of [
    ["```\n", "lines"],
    ["[", "brackets"],
    ["{", "brackets"],
  ] as const) {
    expect(refuseLongPatch(piece.repeat(50_000))).toBeNull();
    expect(refuseLongPatch(piece.repeat(50_001))).toEqual({
      code: "too-large",
      message: `patch has more than 50000 ${what}, too many for a server: divide it, or run picoclaw apply`,
    });
  }
  expect(refuseLongPatch("x".repeat(10_000_000))).toBeNull();
});
