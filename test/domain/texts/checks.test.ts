import { expect, test } from "bun:test";
import {
  type ChecksRecord,
  type FindingValues,
  notChecked,
  readChecksRecord,
  toChecksRecord,
} from "../../../src/domain/checks/findings.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";

const green: ChecksRecord = {
  ...toChecksRecord(notChecked("no-checks")),
  commands: ["npm test"],
  notChecked: null,
  verdict: "same",
  counts: { passed: 426, failed: 0, skipped: 0 },
};
const CASES: readonly [ChecksRecord, en: string, ja: string][] = [
  [
    { ...green, verdict: "better", mended: ["a", "b", "c"] },
    "npm test: 426 passed (3 fixed)",
    "npm test: 426 件成功（3 件修復）",
  ],
  [{ ...green, counts: null }, "npm test: green", "npm test: 成功"],
  [
    { ...green, verdict: "worse", worse: ["a"], counts: { passed: 5, failed: 1, skipped: 2 } },
    "npm test: 5 passed, 1 failed, 2 skipped, 1 worse",
    "npm test: 5 件成功、1 件失敗、2 件スキップ、1 件悪化",
  ],
  [
    toChecksRecord(notChecked("documentation")),
    "not checked: only documentation was changed",
    "チェックなし: 文書だけの変更です",
  ],
];

test("the line about checks, in both languages", () => {
  for (const [facts, en, ja] of CASES) {
    expect(checksMessagesFor("en").line(facts)).toBe(en);
    expect(checksMessagesFor("ja").line(facts)).toBe(ja);
  }
});

test("what sends an attempt back is said in few words, also where a file of new tests cannot be loaded", () => {
  const counts = { passed: 0, failed: 1, skipped: 0, unable: 1 };
  const facts = { ...green, verdict: "new-failing", newFailing: ["test_m.py"], counts } as const;
  expect(checksMessagesFor("en").brief(facts)).toBe("0 passed, 1 new and failing");
  for (const verdict of ["worse", "still-red", "doubtful"] as const) {
    const rewritten = verdict === "doubtful" ? ["test_m.py"] : [];
    expect(checksMessagesFor("en").brief({ ...facts, verdict, rewritten })).not.toBe("");
  }
});

test("each cause of a doubtful verdict is in the first line, the line and the brief, in both languages", () => {
  const lines = [{ path: "a.js", line: "x" }];
  for (const found of [{ testRunLines: lines }, { rewritten: ["a"] }, { unstable: ["a"] }])
    for (const locale of ["en", "ja"] as const) {
      const facts = { ...green, verdict: "doubtful", ...found } as const;
      const { headline, line, brief, remarks } = checksMessagesFor(locale);
      const said = brief(facts);
      expect(said).not.toBe("");
      expect(headline(facts)).toContain(said);
      expect(line(facts)).toContain(said.split(/, |、/).at(-1) as string);
      expect(remarks(facts)).toHaveLength(1);
    }
});

test("what passes only beside others is said in both languages, and holds its form as JSON", () => {
  const patches = [{ path: "test/b.js", line: "calc.add = x" }];
  const facts = { ...green, verdict: "worse", worse: ["a"], patches, together: ["a"] } as const;
  const again = toChecksRecord(readChecksRecord(facts));
  expect(again).toMatchObject({ patches, together: ["a"] });
  expect(checksMessagesFor("en").remarks(again).slice(1)).toEqual([
    "Pass only because new tests replace parts of the code: test/b.js: calc.add = x",
    "Passes alone, and fails with the other tests (twice): a",
  ]);
  expect(checksMessagesFor("ja").remarks(again).slice(1)).toEqual([
    "新しいテストがコードの一部を置き換えているために成功したテストがあります: test/b.js: calc.add = x",
    "単独では成功し、ほかのテストと一緒では 2 回とも失敗: a",
  ]);
});

test("the first line counts new tests that fail beside tests that are still red", () => {
  const counts = { passed: 144, failed: 2, skipped: 0 };
  const facts = { ...green, verdict: "still-red", stillRed: ["a"], newFailing: ["b"], counts } as const;
  expect(checksMessagesFor("en").headline(facts)).toBe("npm test 144 passed, 1 still red, 1 new and failing");
});

test("tests that are removed or skipped without a declaration are named in the first line", () => {
  const facts = { ...green, weakensTests: true, weakened: ["g", "h"] };
  expect(checksMessagesFor("en").headline(facts)).toBe("npm test 426 passed, 2 tests removed or skipped");
  expect(checksMessagesFor("ja").headline(facts)).toBe(
    "npm test 426 件成功、テスト 2 件を削除またはスキップ",
  );
});

test("weakened tests, flaky checks and the names of worse tests are said", () => {
  const facts = {
    ...green,
    worse: ["a", "b", "c", "d", "e", "f"],
    weakensTests: true,
    weakened: ["g"],
    isFlaky: true,
  };
  expect(checksMessagesFor("en").remarks(facts)).toEqual([
    "Newly failing, skipped or missing: a, b, c, d, e and 1 more",
    "This change weakens 1 test (removed or skipped): g",
    "A check is flaky: it failed once and passed when it was run again.",
  ]);
  expect(checksMessagesFor("ja").remarks(facts)).toHaveLength(3);
  expect(checksMessagesFor("en").remarks(green)).toEqual([]);
});

test("new tests that pass without the change guard what worked, unless all of them do", () => {
  const said = (newTests: NonNullable<ChecksRecord["newTests"]>) =>
    (["en", "ja"] as const).map((locale) => checksMessagesFor(locale).remarks({ ...green, newTests })[0]);
  expect(said({ count: 3, passWithout: 2 })).toEqual([
    "3 new tests; without the change 1 fails, 2 pass (they guard what already worked).",
    "新しいテスト 3 件は、変更がなければ 1 件失敗、2 件成功（元の動作を守るテスト）となります。",
  ]);
  expect(said({ count: 2, passWithout: 1 })[0]).toBe(
    "2 new tests; without the change 1 fails, 1 passes (it guards what already worked).",
  );
  expect(said({ count: 2, passWithout: 2 })).toEqual([
    "2 new tests, all pass without the change as well, so they do not test it.",
    "新しいテスト 2 件は、変更がなくてもすべて成功します（変更を確かめていません）。",
  ]);
  expect(said({ count: 1, passWithout: 1 })[0]).toBe(
    "1 new test, passes without the change as well, so it does not test it.",
  );
  expect(said({ count: 3, passWithout: 0 })[0]).toBe("3 new tests, all fail without the change");
  expect(said({ count: 1, passWithout: 0, cannotRun: 1 })).toEqual([
    "1 new test, cannot run without the change",
    "新しいテスト 1 件は、変更がなければ実行できません",
  ]);
  expect(said({ count: 3, passWithout: 1, cannotRun: 1 })[0]).toBe(
    "3 new tests; without the change 1 fails, 1 cannot run, 1 passes (it guards what already worked).",
  );
  expect(said({ count: 1, passWithout: 0, isEndless: true })[0]).toBe(
    "1 new test; without the change it does not end",
  );
});

test("every check that ran is named with its own result", () => {
  const facts: ChecksRecord = {
    ...green,
    commands: ["npm test", "npm run lint"],
    newPassing: ["a"],
    beside: [
      { command: "npm run lint", state: "green" },
      { command: "pytest", state: "green", counts: { passed: 12, failed: 0, skipped: 0 } },
      { command: "ruff check .", state: "cannot-run" },
      { command: "tsc", state: "red" },
      { command: "knip", state: "not-run" },
    ],
  };
  expect(checksMessagesFor("en").headline(facts)).toBe(
    "npm test 426 passed (1 new), npm run lint green, pytest 12 passed, ruff check . cannot run here, tsc red as before, knip not run",
  );
  expect(checksMessagesFor("ja").headline(facts)).toBe(
    "npm test 426 件成功（新規 1 件）、npm run lint 成功、pytest 12 件成功、ruff check . 実行不可、tsc 変更前と同じ失敗、knip 未実行",
  );
  expect(checksMessagesFor("en").line({ ...facts, beside: facts.beside!.slice(0, 1) })).toBe(
    "npm test: 426 passed, npm run lint green",
  );
});

test("checks that did not run are named once, together by their reason, after those that ran", () => {
  const notRun = (command: string, why: "not-installed" | "slow") =>
    ({ command, state: "not-run", why }) as const;
  const beside = [
    notRun("ruff check", "not-installed"),
    { command: "tsc --noEmit", state: "green" } as const,
    notRun("mypy", "not-installed"),
    notRun("eslint .", "slow"),
  ];
  expect(checksMessagesFor("en").line({ ...green, beside })).toBe(
    "npm test: 426 passed, tsc --noEmit green, not run: ruff check, mypy (not installed), not run: eslint . (too slow)",
  );
  expect(checksMessagesFor("ja").line({ ...green, beside })).toBe(
    "npm test: 426 件成功、tsc --noEmit 成功、未実行: ruff check、mypy（未インストール）、未実行: eslint .（時間がかかりすぎ）",
  );
});

test("the first line agrees with the remark about files that the tests do not notice", () => {
  const facts = { ...green, counts: null, unnoticed: ["b.c"] };
  expect(checksMessagesFor("en").headline(facts)).toContain("green (1 changed file not noticed)");
  expect(checksMessagesFor("en").remarks(facts)).toEqual(["The tests do not notice when it is broken: b.c"]);
});

test("affected tests are told with their files, the new ones among them, and what did not run", () => {
  const part = { files: 31, affected: 240, of: 900, wholeSeconds: 180, isAtLeast: true };
  const said = (more: Partial<FindingValues["affectedOnly"]>, locale: "en" | "ja" = "en") => {
    const facts = {
      ...green,
      counts: { passed: 12, failed: 0, skipped: 0 },
      newPassing: ["a", "b", "c", "d"],
    };
    return checksMessagesFor(locale).headline({ ...facts, affectedOnly: { ...part, ...more } });
  };
  expect(said({})).toBe(
    "npm test 12 tests in 31 files passed (4 new), 31 of 240 affected files; the whole suite (over 3 min) was not run",
  );
  expect(said({ files: 2, affected: 2 })).toContain(
    "12 tests in 2 files passed (4 new), all 2 affected files;",
  );
  expect(said({ files: 1, affected: 1, isAtLeast: false })).toContain(
    "12 tests in 1 file passed (4 new), the only affected file; the whole suite (3 min) was not run",
  );
  expect(said({ files: 1, isOnlyNew: true })).toContain("(4 new), only its own new tests; the whole suite");
  expect(said({}, "ja")).toBe(
    "npm test 31 ファイルのテスト 12 件成功（新規 4 件）、関係する 240 ファイル中 31（全テスト（3 分以上）は実行していません）",
  );
});

test("progress names each run, how long it took the last time even when it takes longer, and its tests", () => {
  const facts = { command: "npm test", done: 3, of: 9, seconds: 12, usual: 10, latest: "" } as const;
  const { progress } = checksMessagesFor("en");
  expect(progress(facts)).toBe("npm test: 3 of 9 tests, 12 s of about 10 s");
  expect(progress({ ...facts, run: "old-code", usual: 45 })).toBe(
    "npm test (old code): 3 of 9 tests, 12 s of about 45 s",
  );
  expect(progress({ ...facts, run: "alone", usual: null })).toBe(
    "npm test (again, alone): 3 of 9 tests, 12 s",
  );
  expect(checksMessagesFor("ja").progress({ ...facts, run: "part" })).toStartWith(
    "npm test（関係するテスト）: ",
  );
});

test("checks that take too long are told with their seconds and the limit", () => {
  const facts = { ...notChecked("slow", ["npm test"]), findings: [] };
  const tooLong = { code: "tooLong", found: { seconds: 61, limit: 60 } } as const;
  const { headline } = checksMessagesFor("en");
  expect(headline({ ...facts, findings: [tooLong] })).toBe(
    `${headline(facts)} (they ran 61 s; the limit is 60 s)`,
  );
});
