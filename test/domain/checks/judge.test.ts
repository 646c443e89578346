import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readDeclarations } from "../../../src/domain/checks/declarations.ts";
import { notChecked, toChecksRecord } from "../../../src/domain/checks/findings.ts";
import { settleRedTests } from "../../../src/domain/checks/settle-red.ts";
import { countTests, type TestOutcome } from "../../../src/domain/checks/test-results.ts";
import { type CheckResult, judgeAll, judgeCheck, settleFlaky } from "../../../src/domain/checks/verdict.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";

const OUTCOMES: Readonly<Record<string, TestOutcome>> = {
  "+": "pass",
  "-": "fail",
  "~": "skip",
  "?": "error",
};

/** `green: +a -b ~c`: every test is listed. `red! -b 5`: only failures, with five that passed. `red`: nothing can be read. */
function check(text: string, kind: CheckResult["kind"] = "test"): CheckResult {
  const [, state, mark, names = ""] = /^([a-z-]+)([:!]?) ?(.*)$/.exec(text) as RegExpExecArray;
  const words = names.split(" ").filter((word) => word !== "");
  const tests = new Map(
    words.flatMap((word) => {
      const outcome = OUTCOMES[word[0] as string];
      return outcome === undefined ? [] : [[word.slice(1), outcome] as const];
    }),
  );
  const unnamed = Number(words.find((word) => /^\d+$/.test(word)) ?? 0);
  const counts = countTests(tests);
  const listed = mark === "!" ? ("failed" as const) : ("all" as const);
  const results =
    mark === ""
      ? null
      : { formats: ["tap" as const], listed, tests, counts: { ...counts, passed: counts.passed + unnamed } };
  return { kind, command: kind, state: state as CheckResult["state"], results };
}

/** `verdict | worse | mended | new | weakened`, `!` where it weakens tests; then what else is told. */
function judged(baseline: string | null, draft: string, old: string | null = null, plan?: string): string {
  const [before, now] = [baseline === null ? null : check(baseline), check(draft)];
  const judgement = judgeCheck({ baseline: before, draft: now, old: old === null ? null : check(old) });
  const settled =
    plan === undefined || before === null
      ? { judgement, found: {} }
      : settleRedTests({
          declarations: readDeclarations(plan),
          changed: [],
          before: [before],
          results: [now],
          checks: [{ kind: "test", command: "test", line: "test" }],
          judgement,
          texts: new Map(),
        });
  const { verdict, worse, mended, newFailing, weakened, weakensTests, ...more } = settled.judgement;
  const lists = [worse, mended, newFailing, weakened].map((list) => list.join(" "));
  const reasoned = (list: readonly { readonly test: string; readonly reason: string }[] = []) =>
    list.map(({ test: name, reason }) => `${name} (${reason})`);
  const told = {
    else: more.expectsElse,
    rewritten: more.rewritten,
    moved: more.moved,
    "still red": more.stillRed,
    unable: more.unable,
    ...(plan === undefined && { silenced: more.silenced }),
    "not mine": reasoned(settled.found.notMine),
    meant: reasoned(settled.found.meantToFail),
    removed: settled.found.removed,
  };
  const also = Object.entries(told).flatMap(([key, list = []]) =>
    list.length === 0 ? [] : [`; ${key} ${list.join(" ")}`],
  );
  return `${verdict}|${lists.join("|")}${weakensTests ? "!" : ""}${also.join("")}`;
}

describe("a draft is judged", () => {
  const cases: readonly [what: string, got: string, expected: string][] = [
    ["green before and after", judged("green: +a +b", "green: +a +b"), "same||||"],
    ["green without a format", judged("green", "green"), "same||||"],
    ["green and now red", judged("green: +a +b", "red: +a -b"), "worse|b|||"],
    ["green and now red, unreadable", judged("green", "red"), "worse||||"],
    ["green and now red although no test fails", judged("green: +a", "red: +a"), "worse||||"],
    ["green, and it does not compile now", judged("green: +a", "red"), "worse||||"],
    ["green, and a new test fails", judged("green: +a", "red: +a -b"), "new-failing|||b|"],
    ["red and now green", judged("red: +a -b", "green: +a +b"), "better||b||"],
    ["red and now green, unreadable", judged("red", "green"), "better||||"],
    ["red, one of two mended", judged("red: -a -b +c", "red: +a -b +c"), "better||a||"],
    ["red, one mended and one broken", judged("red: -a +b", "red: +a -b"), "worse|b|a||"],
    ["red, and a test is gone", judged("red: -a +b", "red: -a"), "worse|b|||"],
    ["red, and a test is skipped", judged("red: -a +b", "red: -a ~b"), "worse|b|||"],
    ["red as before", judged("red: -a +b", "red: -a +b"), "red-before||||"],
    ["red, and a new test fails", judged("red: -a +b", "red: -a +b -c"), "new-failing|||c|"],
    ["red, and nothing can be read now", judged("red: -a +b", "red"), "worse||||"],
    ["red and unreadable before and after", judged("red", "red"), "unknown||||"],
    ["red and unreadable, now readable", judged("red", "red: -a"), "unknown||||"],
    ["failures alone are listed, another one", judged("red! -a 5", "red! -a -b 4"), "worse|b|||"],
    ["failures alone are listed, one mended", judged("red! -a -b 4", "red! -a 5"), "better||b||"],
    ["failures alone are listed, fewer tests", judged("red! -a 5", "red! -a 4"), "worse||||"],
    ["green with failures alone listed", judged("green! 5", "red! -a 4"), "worse|a|||"],
    ["it hangs now", judged("green: +a", "timed-out"), "worse||||"],
    ["it hung before as well", judged("timed-out", "timed-out"), "not-checked||||"],
    ["it cannot run here", judged("cannot-run", "cannot-run"), "not-checked||||"],
    ["it could run before", judged("green: +a", "cannot-run"), "worse||||"],
    ["green without a baseline", judged(null, "green: +a"), "same||||"],
    ["red without a baseline", judged(null, "red: -a"), "unknown||||"],
  ];
  for (const [what, got, expected] of cases) test(what, () => expect(got).toBe(expected));
});

test("a case that got another number in its table is not a new test", () => {
  const { newPassing } = judgeCheck({
    baseline: check("green: +t[s0-x] +t[s1-y]"),
    draft: check("green: +t[s0-x] +t[s1-n] +t[s2-y]"),
    old: check("green: +t[s0-x] +t[s1-y]"),
  });
  expect(newPassing).toEqual(["t[s1-n]"]);
});

test.each([
  ["other values of a case", "green: +t[a] +t[b]", "green: +t[a] +t[c]", []],
  ["other values and one more case", "green: +t[a]", "green: +t[b] +t[c]", ["t[c]"]],
  [
    "a table in the place of a test",
    "green: +f.py::t +u",
    "green: +f.py::t[a] +f.py::t[b] +u",
    ["f.py::t[b]"],
  ],
  ["a counted case beside one with other values", "green: +t[0-x] +t[y]", "green: +t[1-x] +t[z]", []],
])("%s: no test is weaker, and only further cases are new", (_, before, now, added) => {
  const judgement = judgeCheck({ baseline: check(before), draft: check(now), old: check(before) });
  expect(judgement).toMatchObject({ verdict: "same", weakened: [], newPassing: added });
});

test("a case without another in its place is told", () => {
  const before = check("green: +t[a] +t[b] +u[a]");
  const judgement = judgeCheck({ baseline: before, draft: check("green: +t[c]"), old: before });
  expect(judgement.weakened).toEqual(["t[b]", "u[a]"]);
});

test("brackets of a path are no table", () => {
  const before = check("green: +app/[id]/page.test.tsx›saves[post] +u");
  const draft = check("green: +app/[id]/other.test.tsx›loads[get] +u");
  expect(judgeCheck({ baseline: before, draft, old: before }).weakened).toEqual([
    "app/[id]/page.test.tsx›saves[post]",
  ]);
});

describe("tests that the draft changed", () => {
  const cases: readonly [what: string, got: string, expected: string][] = [
    ["pass in their old version too", judged("green: +a", "green: +a +b", "green: +a"), "same||||"],
    ["demand something else now", judged("green: +a", "green: +a", "red: -a"), "same||||; else a"],
    ["are gone, and would pass", judged("green: +a +b", "green: +a", "green: +a +b"), "same||||b!"],
    ["are gone, and would fail", judged("red: -x +b", "red: -x", "red: -x -b"), "worse|b|||"],
    ["are skipped now, and would fail", judged("green: +a +b", "green: +a ~b", "red: +a -b"), "worse|b|||"],
    ["are skipped now, and would pass", judged("green: +a +b", "green: +a ~b", "green: +a +b"), "same||||b!"],
    [
      "got other numbers in their table",
      judged("green: +t[s0-x] +t[s1-y]", "green: +t[s0-x] +t[s1-n] +t[s2-y]", "green: +t[s0-x] +t[s1-y]"),
      "same||||",
    ],
    [
      "got other numbers in their table, and one is gone",
      judged(
        "green: +t[s0-x] +t[s1-y] +t[s2-z]",
        "green: +t[s0-y] +t[s1-z]",
        "green: +t[s0-x] +t[s1-y] +t[s2-z]",
      ),
      "same||||t[s0-x]!",
    ],
    [
      "are one less in a table without names",
      judged("green: +t[s0] +t[s1]", "green: +t[s0]", "green: +t[s0] +t[s1]"),
      "same||||t[s1]!",
    ],
    ["are taken away, and would fail", judged("green: +a +b", "green: +a", "red: +a -b"), "worse|b|||"],
    [
      "are others now, and would fail",
      judged("green: +a +b", "green: +a +c", "red: +a -b"),
      "same||||; else b",
    ],
    ["are silenced with what runs them", judged("green: +a", "green", "red: -a"), "worse||||!"],
    ["fail by themselves", judged("green: +a", "red: -a", "green: +a"), "new-failing|||a|"],
    ["fail, and fail in their old version", judged("green: +a", "red: -a", "red: -a"), "worse|a|||"],
    ["are unreadable and fail when old", judged("green", "green", "red"), "same||||"],
    ["are listed by failures alone", judged("green! 5", "green! 5", "red! -a 4"), "same||||; else a"],
    [
      "stand in another file now",
      judged("green: +t/a.py::x +t/a.py::y", "green: +t/b.py::x +t/b.py::y", "green: +t/a.py::x +t/a.py::y"),
      "same||||; moved t/a.py::x t/a.py::y",
    ],
    ["are fewer, and nobody names them", judged("green! 5", "green! 4", "green! 5"), "same||||"],
    ["are fewer, and failed", judged("green! 5", "green! 4", "red! -a 4"), "worse||||; else a"],
    ["bring a new failing one", judged("green! 5", "red! -n 5", "green! 5"), "new-failing|||n|"],
  ];
  for (const [what, got, expected] of cases) test(what, () => expect(got).toBe(expected));
  test("a failing test that is removed or skipped is not fixed, and the reply says so", () => {
    expect(judged("red: -a +b", "green: +b")).toBe("better||||; silenced a");
    expect(judged("red: -a +b", "green: ~a +b")).toBe("better||||; silenced a");
    expect(judged("red: -a -c +b", "red: -c +b")).toBe("red-before||||; silenced a");
  });
  test("a file that could not be run, and whose tests run now, weakens nothing", () =>
    expect(judged("red: -file +b", "green: +one +two +b")).toBe("better||||"));
  test("a test that vanishes while no test was changed is worse, however green", () => {
    expect(judged("green: +a", "green")).toBe("worse||||!");
    expect(judged("green: +a +b", "green: +a")).toBe("worse|b|||");
    expect(judged("green: +a +b", "green:")).toBe("worse|a b|||");
    expect(judged("green! 5", "green! 4")).toBe("worse||||");
  });
});

describe("what the coder declares of red tests", () => {
  const A = "Fixes: a";
  const cases: readonly [what: string, got: string, expected: string][] = [
    ["fixes, still red", judged("red: -a +b", "red: -a +b", null, A), "still-red||||; still red a"],
    [
      "fixes by the check's command, mended in part",
      judged("red: -a -c +b", "red: +a -c +b", null, "Fixes: test"),
      "still-red||a||; still red c",
    ],
    ["fixes, mended", judged("red: -a +b", "green: +a +b", null, A), "better||a||"],
    ["fixes, taken away", judged("red: -a +b", "green: +b", "red: -a +b", A), "still-red||||; still red a"],
    ["fixes, skipped", judged("red: -a +b", "green: ~a +b", "red: -a +b", A), "still-red||||; still red a"],
    [
      "removes, taken away",
      judged("red: -a +b", "green: +b", "red: -a +b", "Removes: a"),
      "better||||; removed a",
    ],
    [
      "removes, passed before",
      judged("green: +a +b", "green: +b", "green: +a +b", "Removes: a"),
      "same||||; removed a",
    ],
    ["nothing, and it is gone", judged("red: -a +b", "green: +b", null, ""), "still-red||||; still red a"],
    ["fixes one of two", judged("red: -a -c +b", "red: +a -c +b", null, A), "better||a||"],
    ["fixes a check without names", judged("red", "red", null, "Fixes: test"), "still-red||||"],
    ["nothing of a check without names", judged("red", "red", null, ""), "unknown||||"],
    [
      "not mine, of a check without names",
      judged("red", "red", null, "Not mine: test: no database"),
      "red-before||||; not mine test (no database)",
    ],
    ["fixes, and another got worse", judged("red: -a +b", "red: +a -b", null, A), "worse|b|a||"],
    [
      "fixes what cannot be set up",
      judged("red: ?a -c +b", "red: ?a +c +b", null, A),
      "still-red||c||; still red a",
    ],
    ["fixes the only test", judged("red: -a", "red: -a", null, A), "still-red||||; still red a"],
    [
      "fixes by rewriting",
      judged("red: -a +b", "green: +a +b", "red: -a +b", A),
      "doubtful||||; rewritten a",
    ],
    [
      "nothing, and rewrites a test of a folder",
      judged("red: -tests/a.py::a +b", "green: +tests/a.py::a +b", "red: -tests/a.py::a +b", ""),
      "doubtful||||; rewritten tests/a.py::a",
    ],
    [
      "nothing, and rewrites a file that could not be loaded",
      judged("red: -tests/a.py +b", "green: +tests/a.py +b", "red: -tests/a.py +b", ""),
      "better||tests/a.py||",
    ],
    [
      "rewrites on purpose",
      judged("red: -a +b", "green: +a +b", "red: -a +b", "Changes checks: a: the sum was wrong"),
      "better||||; else a",
    ],
    ["nothing, not connected", judged("red: -a +b", "red: -a +b", null, ""), "red-before||||"],
    [
      "not mine",
      judged("red: -a -c +b", "red: -a -c +b", null, "- Not mine: `a`, c: build output missing"),
      "red-before||||; not mine a (build output missing) c (build output missing)",
    ],
    ["not mine, without a reason", judged("red: -a +b", "red: -a +b", null, "Not mine: a"), "red-before||||"],
    [
      "first fixes, then not mine",
      judged("red: -a +b", "red: -a +b", null, "Fixes: a\nNot mine: a: needs a network"),
      "red-before||||; not mine a (needs a network)",
    ],
    [
      "not mine, and its outcome is another one",
      judged("red: -a +b", "red: ?a +b", null, "Not mine: a: no database"),
      "still-red||||; still red a",
    ],
    ["nothing, and a new one fails", judged("green: +a", "red: +a -n", null, ""), "new-failing|||n|"],
    [
      "meant to fail",
      judged("green: +a", "red: +a -n", null, "Meant to fail: n: shows the bug"),
      "same||||; meant n (shows the bug)",
    ],
    [
      "meant to fail, one of two",
      judged("green: +a", "red: +a -n -m", null, "Meant to fail: n: shows the bug"),
      "new-failing|||m|; meant n (shows the bug)",
    ],
  ];
  for (const [what, got, expected] of cases) test(what, () => expect(got).toBe(expected));
  test("where nothing passed, nothing is said to be no worse", () => {
    expect(judged("red: -a", "red: -a")).toBe("unknown||||");
    expect(judged("red: ?a ?b", "red: ?a ?b")).toBe("unknown||||; unable a b");
  });
});

test("a red draft in which a test that passed fails or is gone is always worse", () => {
  const outcome = fc.constantFrom("+", "-", "~");
  const tests = fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e"), outcome, { minKeys: 1 });
  const text = (map: Record<string, string>) =>
    Object.entries(map)
      .map(([name, mark]) => `${mark}${name}`)
      .join(" ");
  fc.assert(
    fc.property(tests, tests, fc.boolean(), (before, now, wasGreen) => {
      const got = judged(`${wasGreen ? "green" : "red"}: ${text(before)}`, `red: ${text(now)}`);
      const broken = Object.keys(before).some((name) => before[name] === "+" && now[name] !== "+");
      expect(got.startsWith("worse|")).toBe(
        broken ||
          (wasGreen &&
            (Object.values(now).every((mark) => mark !== "-") ||
              Object.keys(now).some((name) => now[name] === "-" && before[name] !== undefined))),
      );
    }),
  );
});

describe("several checks", () => {
  const all = (baseline: [string, string], draft: [string, string]) =>
    judgeAll({
      baseline: [check(baseline[0]), check(baseline[1], "lint")],
      draft: [check(draft[0]), check(draft[1], "lint")],
      old: null,
    }).verdict;
  const cases: readonly [string, string, string][] = [
    ["a linter that got red is worse", all(["green", "green"], ["green", "red"]), "worse"],
    ["a linter that was red before says nothing", all(["green", "red"], ["green", "red"]), "same"],
    ["a linter alone does not judge red tests", all(["red", "green"], ["red", "green"]), "unknown"],
    ["a linter that is mended is better", all(["green", "red"], ["green", "green"]), "better"],
    ["a linter judges where no test can run", all(["cannot-run", "green"], ["cannot-run", "green"]), "same"],
    ["none can run", all(["cannot-run", "cannot-run"], ["cannot-run", "cannot-run"]), "not-checked"],
  ];
  for (const [what, got, expected] of cases) test(what, () => expect(got).toBe(expected));
});

describe("a red result that is run again", () => {
  const settled = (first: string, second: string) => {
    const { result, isFlaky } = settleFlaky(check(first), check(second));
    const tests = [...(result.results?.tests ?? [])].map(([name, outcome]) => `${outcome} ${name}`);
    return `${result.state}${isFlaky ? " flaky" : ""}: ${tests.join(", ")}`;
  };
  test("and is green then was flaky", () =>
    expect(settled("red: -a", "green: +a")).toBe("green flaky: pass a"));
  test("and red by the same tests is red", () => expect(settled("red: -a", "red: -a")).toBe("red: fail a"));
  test("fails only by what failed twice", () =>
    expect(settled("red: -a -b +c", "red: -a +b -c")).toBe("red flaky: fail a, pass b, pass c"));
  test("and cannot be read is the second one", () => expect(settled("red", "red")).toBe("red: "));
  test("is left alone when it was green", () =>
    expect(settled("green: +a", "red: -a")).toBe("green: pass a"));
});

test("a check that was red before, and shows no test any more, is not reported as newly red", () => {
  const judgement = judgeCheck({ baseline: check("red: -a +b"), draft: check("green"), old: null });
  const facts = { ...toChecksRecord(notChecked("no-change", ["npm test"])), ...judgement, notChecked: null };
  const { line, brief } = checksMessagesFor("en");
  expect(line(facts)).toBe("npm test: no longer shows any tests");
  expect(brief(facts)).toBe("npm test: no longer shows any tests");
  expect(line({ ...facts, newlyRed: ["npm test"] })).toBe("npm test: red, was green before");
  expect(checksMessagesFor("ja").line(facts)).not.toContain("変更前は成功");
});

test("tests that could not be set up are not counted as failing while the coder fixes them", () => {
  const facts = judgeAll({
    baseline: [check("red: +a +b ?x ?y")],
    draft: [check("red: +a -b ?x ?y")],
    old: null,
  });
  for (const [locale, told] of [
    ["en", "1 of 2 tests fail"],
    ["ja", "2 件中 1 件失敗"],
  ] as const)
    expect(
      checksMessagesFor(locale).brief({
        ...toChecksRecord(notChecked("no-checks")),
        ...facts,
        notChecked: null,
      }),
    ).toBe(told);
});
