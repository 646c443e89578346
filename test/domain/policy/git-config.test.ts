import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readGitConfig } from "../../../src/domain/policy/git-files.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { runs } from "../../require.ts";

type Settings = readonly (readonly [name: string, value: string])[];

const TEXTS: readonly (readonly [name: string, text: string, settings: Settings])[] = [
  ["a section and a key", "[core]\n\tbare = false\n", [["core.bare", "false"]]],
  ["names in lower case, subsections as written", '[Remote "Up"]\nURL = x', [["remote.Up.url", "x"]]],
  ["the old dotted form", "[branch.Main]\nremote=o", [["branch.main.remote", "o"]]],
  ["a key beside its section", "[core] hooksPath = x", [["core.hookspath", "x"]]],
  ["a key without a value is true", "[core]\nbare\n", [["core.bare", "true"]]],
  [
    "comments",
    "# one\n[a]\nb = c # d\ne = f ; g\n; h\n",
    [
      ["a.b", "c"],
      ["a.e", "f"],
    ],
  ],
  ["quotes keep comment signs and blanks", '[a]\nb = " #c; "\n', [["a.b", " #c; "]]],
  ["escapes", '[a]\nb = "x\\n\\t\\"\\\\"\n', [["a.b", 'x\n\t"\\']]],
  ["a continued line", "[alias]\nx = !sh \\\n  -c evil\n", [["alias.x", "!sh   -c evil"]]],
  ["CRLF and a byte order mark", "\ufeff[a]\r\nb = c\r\n", [["a.b", "c"]]],
  ["escapes in a subsection", '[url "a\\"b"]\ninsteadOf = x', [['url.a"b.insteadof', "x"]]],
  ["what is no section is passed over", "garbage\n[a]\nb=c\n[[x\n", [["a.b", "c"]]],
  ["an empty file", "", []],
];

describe("git's configuration", () => {
  test.each(TEXTS)("%s", (_name, text, settings) => {
    expect(readGitConfig(text).settings.map(({ name, value }) => [name, value] as const)).toEqual([
      ...settings,
    ]);
  });

  test("reading it never throws and is linear", () => {
    const piece = fc.oneof(
      fc.constantFrom("[", "]", '"', "\\", "\n", "=", "#", ";", "[a]", '[a "', "x = ", "\0", "\r\n"),
      fc.string(),
    );
    const property = fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      for (const { name } of readGitConfig(pieces.join("")).settings) expect(name).toContain(".");
    });
    fc.assert(property, { numRuns: runs(500) });
    const began = cpuTimeMs();
    for (const text of [
      `[a]\n${"b = c\n".repeat(50_000)}`,
      "[".repeat(200_000),
      `[a]\nb = ${'"\\n'.repeat(100_000)}`,
    ])
      readGitConfig(text);
    expect(cpuTimeMs() - began).toBeLessThan(2000);
  });
});
