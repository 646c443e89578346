import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepsOthersLines, mergeFile } from "../../../src/domain/platform/merge.ts";
import { cpuTimeMs } from "../../cpu-time.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`);
const joined = (lines: readonly string[], end = "\n") => lines.map((line) => `${line}${end}`).join("");

function merge(base: string | null | undefined, ours: string | null, theirs: string | null) {
  const side = (text: string | null) => (text === null ? null : bytes(text));
  const merged = mergeFile({
    base: base === undefined ? undefined : side(base),
    ours: side(ours),
    theirs: side(theirs),
  });
  return merged.kind === "clean" ? new TextDecoder().decode(merged.bytes) : merged;
}

test.each([
  ["changes apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"],
  ["an addition at the end and one at the head", "a\nb\n", "a\nb\nc\n", "0\na\nb\n", "0\na\nb\nc\n"],
  ["a removal and a change", "a\nb\nc\nd\n", "b\nc\nd\n", "a\nb\nc\nD\n", "b\nc\nD\n"],
  ["the same change once", "a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "A\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n"],
  ["line ends of the base", "a\r\nb\r\nc\r\n", "A\nb\nc\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n"],
  ["no newline at the end", "a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"],
  ["mixed line ends", "a\r\nb\nc\n", "A\r\nb\nc\n", "a\r\nb\nC\n", "A\r\nb\nC\n"],
])("%s merge", (_, base, ours, theirs, expected) => {
  expect(merge(base, ours, theirs)).toBe(expected);
});

test.each([
  ["the same line", "a\n", "b\n", "c\n", "touching"],
  ["neighbouring lines", "a\nb\n", "A\nb\n", "a\nB\n", "touching"],
  ["two additions at one place", "a\nb\n", "a\nx\nb\n", "a\ny\nb\n", "touching"],
  ["two endings without newline", "a\nb\nc", "a\nb\nc\nd", "a\nb\nc\ne", "touching"],
  ["no base", undefined, "a\n", "b\n", "no-base"],
  ["a file that one side removed", "a\n", null, "b\n", "gone"],
  ["a file that the other side removed", "a\n", "b\n", null, "gone"],
  ["a file that both made", null, "a\n", "b\n", "gone"],
  ["bytes that are no text", "a\nb\nc\n", "A\nb\nc\n", "a\nb\n\0\n", "not-text"],
] as const)("%s is a conflict", (_, base, ours, theirs, why) => {
  expect(merge(base, ours, theirs)).toEqual({ kind: "conflict", why });
});

test("bytes that are not UTF-8, and a file past the limit, are conflicts", () => {
  const latin = new Uint8Array([0x61, 0x0a, 0xe9, 0x0a]);
  expect(mergeFile({ base: bytes("a\nb\nc\n"), ours: bytes("A\nb\nc\n"), theirs: latin })).toEqual({
    kind: "conflict",
    why: "not-text",
  });
  const long = "x".repeat(1024 * 1024 + 1);
  expect(merge("a\n", "b\n", long)).toEqual({ kind: "conflict", why: "too-large" });
});

test("the side without a change gives way, for any bytes", () => {
  expect(merge("a\n", "a\n", "b\0\n")).toEqual({ kind: "theirs" });
  expect(merge("a\n", "b\0\n", "a\n")).toEqual({ kind: "ours" });
  expect(merge("a\n", null, "a\n")).toEqual({ kind: "ours" });
  expect(merge(undefined, "a\n", "a\n")).toEqual({ kind: "same" });
});

test("a long reformatted file against an edit is decided in time", () => {
  const lines = numbered(50_000);
  const base = joined(lines);
  const [formatted, edited] = [
    joined(lines.map((line) => `  ${line};`)),
    joined(lines.with(25_000, "edited")),
  ];
  const begun = cpuTimeMs();
  const merged = merge(base, formatted, edited);
  expect(cpuTimeMs() - begun).toBeLessThan(3_000);
  expect(merged).toMatchObject({ kind: "conflict" });
  expect(merge(base, joined(lines.with(10, "mine")), joined(lines.with(40_000, "other")))).toBe(
    joined(lines.with(10, "mine").with(40_000, "other")),
  );
});

/** A small generator, so that a failure can be repeated by its seed. */
function dice(seed: number) {
  let state = seed;
  return (sides: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * sides);
  };
}

function edited(lines: readonly string[], roll: (sides: number) => number, mark: string): string[] {
  const result = [...lines];
  for (let edit = 0; edit <= roll(3); edit++) {
    const at = roll(result.length + 1);
    const what = roll(3);
    if (what === 0) result.splice(at, 0, `${mark}${edit}`);
    else if (what === 1) result.splice(at, 1);
    else if (at < result.length) result[at] = `${mark}${edit}`;
  }
  return result;
}

test("what merges is what git merges, and never holds a marker", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-merge-"));
  try {
    for (let seed = 1; seed <= 60; seed++) {
      const roll = dice(seed);
      const base = numbered(6 + roll(20));
      const [ours, theirs] = [edited(base, roll, "o"), edited(base, roll, "t")];
      const merged = merge(joined(base), joined(ours), joined(theirs));
      if (typeof merged !== "string") continue;
      expect(merged).not.toContain("<<<<<<<");
      for (const [name, lines] of Object.entries({ base, ours, theirs }))
        writeFileSync(join(folder, name), joined(lines));
      const git = Bun.spawnSync(["git", "merge-file", "-p", "ours", "base", "theirs"], { cwd: folder });
      if (git.exitCode === 0) expect({ seed, merged }).toEqual({ seed, merged: git.stdout.toString() });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ["a formatter", "x=1\ny=1\n", "x = 2;\ny = 1;\n", "x=2\ny=1\n", true],
  ["a line at the other end", "m\n", "alpha\nm\nzeta\n", "alpha\nm\n", true],
  ["lines that were joined", "f(a)\n", "g(b, f(a,\n c))\n", "g(b,\n f(a, c))\n", true],
  ["a text that knows nothing of it", "a\n", "b\n", "a\nmine\n", false],
  ["a line that comes back", "a\nold\n", "a\nold\nb\n", "a\n", false],
  ["nothing left", "a\n", null, "a\nmine\n", false],
] as const)("others' lines in what a command made of a text: %s", (_, base, ours, theirs, kept) => {
  const bytes = (text: string | null) => (text === null ? null : new TextEncoder().encode(text));
  expect(keepsOthersLines({ base: bytes(base), ours: bytes(ours), theirs: bytes(theirs) })).toBe(kept);
});

test("others' lines in a text are looked for in time that does not run away", () => {
  const text = (mark: string) =>
    new TextEncoder().encode(Array.from({ length: 30_000 }, (_, at) => `${mark} ${at}\n`).join(""));
  const began = cpuTimeMs();
  expect(keepsOthersLines({ base: text("a"), ours: text("b"), theirs: text("c") })).toBe(false);
  expect(cpuTimeMs() - began).toBeLessThan(5_000);
});
