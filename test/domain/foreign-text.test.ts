/**
 * Each exported function of one text, wherever people, models and projects write it, takes time that grows with the text. The
 * sources are the list: a new function is tried without being named here.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { cpuTimeMs } from "../cpu-time.ts";
import { cases } from "../require.ts";

const SRC = join(import.meta.dir, "../../src");
const NAMES =
  "text|answer|message|line|output|written|source|content|body|report|said|words|raw|reply|request|stdout|stderr|markdown|html|diff|patch|url|glob";
/** Its parameters are texts, apart from those that may be left out. */
const READER = new RegExp(
  `^export function (\\w+)\\((?:${NAMES}): string((?:, \\w+: string)*)(?:, \\w+(?:\\?:| =|: \\w+ =)[^()]*)?\\)`,
  "gm",
);

const READERS = ["domain", "application", "adapters", "tools"].flatMap((layer) =>
  readdirSync(join(SRC, layer), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("ports/"))
    .flatMap((file) =>
      [...readFileSync(join(SRC, layer, file), "utf8").matchAll(READER)].map(
        ([, name = "", others = ""]) => [name, others.split(", ").length, join(SRC, layer, file)] as const,
      ),
    ),
);

const PIECES = [
  ..."aA0 _-./:@#*`'\"~<>()[]{}|\\=+!?,;$%&^\n\t\r",
  ...[
    "\n\n",
    "  ",
    "a ",
    "a\n",
    "- a\n",
    "> ",
    "```\n",
    "```x\n",
    "~~~\n",
    "**",
    "__",
    "](",
    "[a](",
    "![",
    "<a ",
    "</",
    "<!--",
  ],
  ...[
    "-->",
    "http://a",
    "://",
    "a.b",
    "a/",
    "../",
    "--",
    "---\n",
    "+++ a\n",
    "@@ -1 +1 @@\n",
    "diff --git a/a b/a\n",
    "*** ",
  ],
  ...[
    "*** Update File: a\n",
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    '{"a":',
    '\\"',
    "\\n",
    "あ",
    "漢字",
    "。",
  ],
  ...[
    "「",
    "é",
    "😀",
    "\x1b[1m",
    "\u200b",
    "sk-ant-",
    "eyJa_",
    "password: ",
    "TOKEN=",
    "-----BEGIN ",
    "-----END ",
    "FAILED a\n",
  ],
  ...[
    "Error: ",
    "    at a (b:1:1)\n",
    "1 passed, ",
    "not ok 1\n",
    "Plan:\n",
    "## Patch\n",
    "a(",
    "f() {",
    "import a",
    "=>",
    "|a|\n",
  ],
  ...[
    "|-|\n",
    "0 * ",
    "毎日",
    "$(",
    "&& ",
    "; ",
    "EOF\n",
    "<<EOF\n",
    "\0",
    "GET ",
    "Fixes #1",
    "key: ",
    "  - a\n",
    "[a]\n",
    "%41",
  ],
];
const piece = fc.constantFrom(...PIECES);
const shape = fc.record({
  before: fc.array(piece, { maxLength: 2 }),
  repeated: fc.array(piece, { minLength: 1, maxLength: 3 }),
  between: fc.array(piece, { maxLength: 1 }),
  again: fc.array(piece, { minLength: 1, maxLength: 2 }),
  after: fc.array(piece, { maxLength: 2 }),
});
const SHAPES = [
  ...PIECES.map((one) => ({ before: [], repeated: [one], between: [], again: [one], after: ["x"] })),
  ...fc.sample(shape, { numRuns: Math.max(0, cases(100) - 20), seed: 20261119 }),
];

function textOf({ before, repeated, between, again, after }: (typeof SHAPES)[number], chars: number): string {
  const half = (unit: string) => unit.repeat(Math.ceil(chars / 2 / unit.length));
  return [
    before.join(""),
    half(repeated.join("")),
    between.join(""),
    half(again.join("")),
    after.join(""),
  ].join("");
}

const CHARS = 6_000;
/** Below this, the garbage collector shows more than the work. */
const FLOOR_MS = 40;

test.each(READERS)("%s takes time that grows with the text", async (name, texts, file) => {
  const read = ((await import(file)) as Record<string, (...texts: string[]) => unknown>)[name];
  if (read === undefined) throw new Error(`${name} is not exported`);
  const timeOf = async (text: string) => {
    const before = cpuTimeMs();
    try {
      await read(...Array<string>(texts).fill(text));
    } catch {
      // A text that is refused is read as well.
    }
    return cpuTimeMs() - before;
  };
  for (const one of SHAPES) {
    const [small, large] = [textOf(one, CHARS), textOf(one, 4 * CHARS)];
    // A busy machine only adds time, and work that grows faster exceeds the limit in every try.
    let most = await timeOf(large);
    let least = most > FLOOR_MS ? await timeOf(small) : 0;
    for (let tries = 0; tries < 5 && most > Math.max(2.5 ** 2 * least, FLOOR_MS); tries++) {
      most = Math.min(most, await timeOf(large));
      least = Math.min(least, await timeOf(small));
    }
    expect({ shape: one, least, most }).toEqual({
      shape: one,
      least,
      most: Math.min(most, Math.max(2.5 ** 2 * least, FLOOR_MS)),
    });
  }
});
