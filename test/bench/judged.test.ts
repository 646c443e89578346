import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { judged } from "../../bench/judged.ts";
import { makeMutants } from "../../bench/judged-mutants.ts";
import { remove, tempFolder } from "../../bench/workspaces.ts";

/** The mutants of a text whose lines are all new: kind, number and text of the changed line. */
function mutantsOf(path: string, text: string) {
  const lines = text.split("\n");
  return makeMutants(path, text, new Set(lines.keys().map((at) => at + 1))).map((mutant) => {
    const changed = mutant.text.split("\n");
    return [mutant.kind, changed[mutant.line - 1]?.trim()];
  });
}

describe("a mutant", () => {
  test.each([
    [
      "a.py",
      "if a and b:\n    log('if x:')  # f(x)\n    return items[i]\n",
      [
        ["condition turned", "if not (a and b):"],
        ["call dropped", "pass"],
        ["branch removed", "if False and (a and b):"],
        ["index off", "return items[i + 1]"],
      ],
    ],
    [
      "a.ts",
      'const re = /if (x) [0-9]+/;\nif (has(a) && b) {\n  send("f(1)");\n}\n',
      [
        ["condition turned", "if (!(has(a) && b)) {"],
        ["call dropped", "if ((a) && b) {"],
        ["branch removed", "if (false && (has(a) && b)) {"],
        ["call dropped", ""],
      ],
    ],
    [
      "a.go",
      "if n := len(s); n > 2 {\n\tlog(n)\n}\n",
      [
        ["condition turned", "if n := len(s); !(n > 2) {"],
        ["call dropped", "if n := (s); n > 2 {"],
        ["branch removed", "if n := len(s); false && (n > 2) {"],
        ["index off", "if n := len(s); n > 3 {"],
        ["call dropped", ""],
      ],
    ],
    [
      "a.rs",
      "if let Some(x) = at(1) {\n    let c = '\"';\n    f::<'a>(x == 2);\n}\n",
      [
        ["condition turned", "f::<'a>(x != 2);"],
        ["call dropped", "if let (x) = at(1) {"],
        ["index off", "if let Some(x) = at(2) {"],
        ["index off", "f::<'a>(x == 3);"],
      ],
    ],
    [
      "A.java",
      "  else if (a(\n      b)) {\n    c.d(e);\n  }\n  void f(int g)\n  {\n",
      [
        ["condition turned", "else if (!(a("],
        ["call dropped", ""],
        ["branch removed", "else if (false && (a("],
      ],
    ],
  ])(
    "of %s turns, drops, removes or moves one place outside strings and comments",
    (path, text, expected) => {
      expect(mutantsOf(path, text)).toEqual(expected);
    },
  );

  test("is made on the fix's own lines alone, and of known languages alone", () => {
    expect(makeMutants("a.py", "if a:\n    b()\n", new Set([3]))).toEqual([]);
    expect(makeMutants("a.sql", "if (a) b();\n", new Set([1]))).toEqual([]);
  });
});

test("a summary counts what was judged, refused and wrongly accepted, by who sees the mutant", async () => {
  const folder = tempFolder("judged");
  const record = join(folder, "record.ndjson");
  const verdict = (ended: string, checkSeconds: number) => ({
    ended,
    code: 0,
    text: "",
    seconds: 9,
    checkSeconds,
    runs: [{ over: "draft", altered: false, command: "pytest", exit: 0, seconds: checkSeconds }],
  });
  const of = (fix: string) => ({ fix, language: "Python" });
  const suite = (seconds: number) => ({ seconds, code: 0, failing: [], tests: 3, tail: "" });
  const mutant = (fix: string, seenBy: string, ended: string) => ({
    ...of(fix),
    who: "mutant 1",
    kind: "index off",
    place: "a.py:1",
    seenBy,
    ...verdict(ended, 3),
  });
  const lines = [
    { ...of("p/1"), who: "fix", ...verdict("green", 4) },
    { ...of("p/2"), who: "fix", ...verdict("kept", 6) },
    { ...of("p/3"), who: "fix", ...verdict("unchecked", 8) },
    { ...of("p/4"), who: "fix", error: "no room" },
    { ...of("p/1"), who: "whole", before: suite(2), alone: suite(2), fixed: suite(2) },
    mutant("p/1", "visible", "kept"),
    mutant("p/2", "visible", "green"),
    mutant("p/3", "hidden", "green"),
    mutant("p/4", "none", "green"),
    mutant("p/5", "build", "kept"),
    { ...of("u/1"), who: "comment", ...verdict("green", 1) },
    { ...of("u/2"), who: "comment", ...verdict("unchecked", 1) },
    { ...mutant("u/1", "visible", "kept"), who: "broken" },
    { ...mutant("u/2", "none", "green"), who: "broken" },
  ];
  writeFileSync(record, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n{"fix":"p/9","who":"f`);

  const rows = await judged({ tasks: undefined, long: false, contest: { summary: true, record } });
  remove(folder);

  expect(rows.map(({ name, figure, ok }) => [name, figure, ok])).toEqual([
    ["Python: the true fix", "green 1, kept 1, unchecked 1, no verdict 0", true],
    ["judged at all", "2 of 3 (66.7 %)", false],
    ["true fix refused", "1 of 3 (33.3 %)", false],
    [
      "mutants that the visible suite sees, landed as green",
      "1 of 2 (50.0 %), unchecked 0, no verdict 0",
      false,
    ],
    ["mutants that only the fix's tests see, landed as green", "1 of 1 (100.0 %)", true],
    ["mutants that no test sees", "1 of 1 (100.0 %) landed as green", true],
    ["mutants that cannot be built", "1 of 1 (100.0 %) kept back", true],
    ["all checks of a true fix, median", "6.0 s; 2.00 runs of the whole suite (1 measured)", true],
    ["projects never looked at: one comment more", "green 1 of 2 (50.0 %), unchecked 1, kept 0", true],
    ["… one line broken, and the suite sees it", "kept 1 of 1 (100.0 %), green 0, unchecked 0", true],
    ["plays that the bench could not make", "1", false],
  ]);
});
