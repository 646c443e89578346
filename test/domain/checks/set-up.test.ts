/** What cannot be set up says nothing of the code, and one test has one word; what the coder answers for is not hidden by it. */

import { describe, expect, test } from "bun:test";
import { checkResult } from "../../../src/application/checks/baseline.ts";
import { readChecksState } from "../../../src/application/checks/project-checks.ts";
import { readDeclarations } from "../../../src/domain/checks/declarations.ts";
import { type ChecksFacts, toChecksRecord } from "../../../src/domain/checks/findings.ts";
import { hangingFiles, withoutFiles } from "../../../src/domain/checks/narrow-check.ts";
import { readResults } from "../../../src/domain/checks/read-results.ts";
import { settleRedTests } from "../../../src/domain/checks/settle-red.ts";
import { type CheckResult, isUnable, judgeAll } from "../../../src/domain/checks/verdict.ts";

const result = (output: string, command = "go test ./..."): CheckResult => {
  const results = readResults(output);
  const isRed = results !== null && results.counts.failed > 0;
  return { kind: "test", command, state: isRed ? "red" : "green", results };
};

const NO_MODULE = `# example.com/p/docs
docs/docs_test.go:5:2: module lookup disabled by GOPROXY=off
FAIL\texample.com/p/docs [setup failed]
`;
const ONE = "=== RUN   TestOne\n--- PASS: TestOne (0.00s)\nPASS\nok  \texample.com/p\t0.015s\n";

describe("a package whose module cannot be downloaded, before and after", () => {
  const none = {
    ...result(ONE, "go test ./... (new tests)"),
    results: { ...result(ONE).results!, tests: new Map() },
  };
  const judged = judgeAll({
    baseline: [result(NO_MODULE + ONE), none],
    draft: [result(NO_MODULE + ONE), result(NO_MODULE, "go test ./... (new tests)")],
    old: null,
  });
  test("cannot run, and is not new and failing, whichever check meets it", () =>
    expect(judged).toMatchObject({
      verdict: "same",
      newFailing: [],
      redBefore: [],
      unable: ["example.com/p/docs"],
    }));
});

const refused = (test: string, message = "connect ECONNREFUSED 127.0.0.1:5432") => `TAP version 13
# Subtest: ${test}
not ok 1 - ${test}
  ---
  error: '${message}'
  ...
# Subtest: adds
ok 2 - adds
1..2
# tests 2
# pass 1
# fail 1
`;

/** As cargo, Maven and a script of exit codes end before their tests. */
const NOT_DOWNLOADED = [
  "error: failed to get `serde` as a dependency\n  [6] Could not resolve hostname (Could not resolve host: index.crates.io)",
  "[ERROR] Unknown host repo.maven.apache.org: Temporary failure in name resolution -> [Help 2]",
  "Error: connect ECONNREFUSED 127.0.0.1:5432",
  "Failed to connect to the database: ECONNREFUSED",
];

describe("a target whose program is not installed", () => {
  const lint = { kind: "lint", command: "make lint", line: "make lint" } as const;
  const ran = (whole: string) => checkResult(lint, { outcome: "exited", exitCode: 2, whole });
  test("cannot run, as make says last", () => {
    const said =
      "clang-tidy a.h\nmake: clang-tidy: No such file or directory\nmake: *** [Makefile:28: lint] Error 127\n";
    expect(ran(said)).toMatchObject({ state: "cannot-run", absent: "clang-tidy" });
    const byShell =
      "/bin/sh: 1: shellcheck: not found\nmake[1]: *** [Makefile:3: lint] Error 127\nmake: *** [Makefile:1: all] Error 2\n";
    expect(ran(byShell)).toMatchObject({ state: "red" });
    expect(ran(byShell.replace("Error 2", "Error 127"))).toMatchObject({
      state: "cannot-run",
      absent: "shellcheck",
    });
  });
  test("is red where a program that ran says so before make's own last line", () => {
    const printed = "make: *** [x] Error 127\na.c:3: warning\nmake: *** [Makefile:28: lint] Error 1\n";
    expect(ran(printed)).toMatchObject({ state: "red" });
  });
});

describe("a run that ends before its tests", () => {
  const check = { kind: "test", command: "cargo test", line: "cargo test" } as const;
  const found = { ok: true, checks: [check], missing: [], install: "cargo fetch" } as const;
  const stateOf = (whole: string) => {
    const results = [checkResult(check, { outcome: "exited", exitCode: 101, whole })];
    return { isUnable: results.every(isUnable), none: toRecord(noneOf(results)) };
  };
  const toRecord = (none: ChecksFacts | null) => none && toChecksRecord(none);
  const noneOf = (results: readonly CheckResult[]) =>
    readChecksState(found, {
      lines: ["cargo test"],
      fingerprint: "",
      at: 0,
      durationMs: 1,
      wasEnded: false,
      noticed: [],
      hung: [],
      results,
    }).none;
  test.each(NOT_DOWNLOADED)("for want of the network cannot run: %s", (whole) =>
    expect(stateOf(whole)).toMatchObject({
      isUnable: true,
      none: { notChecked: "cannot-run", install: "cargo fetch" },
    }),
  );
  test.each([
    "error[E0425]: cannot find value `a`",
    "passed: parses\npassed: retries after ECONNREFUSED\nfailed: adds\nexpected 3, got -1",
    "failed: adds\nexpected 3, got -1\nfailed: connects\nError: connect ECONNREFUSED 127.0.0.1:5432",
    "  ✓ parses\n  x adds\nError: connect ECONNREFUSED 127.0.0.1:5432",
    "retries after ECONNREFUSED\nexpected 3, got -1\n3 tests passed, 1 failed",
    `warning: ECONNREFUSED\n${"compiling\n".repeat(30)}syntax error`,
  ])("for another reason, or during them, is red and does not say which test: %s", (whole) =>
    expect(stateOf(whole)).toMatchObject({ isUnable: false, none: { notChecked: "red-before" } }),
  );
});

describe("a service that is not there", () => {
  test.each([
    "connect ECONNREFUSED 127.0.0.1:5432",
    "getaddrinfo ENOTFOUND api.example.com",
    "[Errno 111] Connection refused",
    "dial tcp: lookup db on 127.0.0.11:53: no such host",
  ])("%s: the test cannot run", (message) => {
    const read = readResults(refused("queries", message));
    expect(read?.counts).toEqual({ passed: 1, failed: 1, skipped: 0, unable: 1 });
    const both = [result(refused("queries", message))];
    expect(judgeAll({ baseline: both, draft: both, old: null })).toMatchObject({
      verdict: "same",
      unable: ["queries"],
    });
  });
  test("a test that passed before and asks for one now is worse", () => {
    const before = [
      result(refused("queries").replace("not ok", "ok").replace("# pass 1\n# fail 1", "# pass 2")),
    ];
    const draft = [result(refused("queries"))];
    expect(judgeAll({ baseline: before, draft, old: null })).toMatchObject({ verdict: "worse" });
  });
});

const collecting = (place: string) => `tests/test_b.py::test_b PASSED
==================================== ERRORS ====================================
______________________ ERROR collecting tests/test_a.py ________________________
tests/test_a.py:1: in <module>
    from a import f
${place}: in <module>
    f = g
E   NameError: name 'g' is not defined
=========================== short test summary info ============================
ERROR tests/test_a.py - NameError: name 'g' is not defined
========================= 1 passed, 1 error in 0.01s ==========================
`;

describe("a file that cannot be collected, before and after", () => {
  const settle = (place: string, plan: string, changed = ["src/a.py"]) => {
    const both = [result(collecting(place), "pytest")];
    const checks = [{ kind: "test", command: "pytest", line: "pytest" }] as const;
    const judgement = judgeAll({ baseline: both, draft: both, old: null });
    const declarations = readDeclarations(plan);
    const texts = new Map([
      ["src/a.py", "f = g\n"],
      ["tests/test_a.py", "from a import f\n"],
    ]);
    const red = { before: both, results: both, checks, judgement, declarations, changed, texts };
    const settled = settleRedTests(red).judgement;
    return [settled.verdict, settled.unable, settled.stillRed];
  };
  test("cannot run, where nothing ties it to the change", () =>
    expect(settle("src/other.py:1", "", ["src/b.py"])).toEqual(["same", ["tests/test_a.py"], []]));
  test("is still red where its account passes through the change", () =>
    expect(settle("src/a.py:1", "")).toEqual(["still-red", [], ["tests/test_a.py"]]));
  test("is still red where the coder declared that it fixes it", () =>
    expect(settle("src/other.py:1", "Fixes: tests/test_a.py", ["src/b.py"])).toEqual([
      "still-red",
      [],
      ["tests/test_a.py"],
    ]));
  test("is not one of those that the command's name implies", () =>
    expect(settle("src/other.py:1", "Fixes: pytest", ["src/b.py"])).toEqual([
      "same",
      ["tests/test_a.py"],
      [],
    ]));
});

describe("a test that does not end", () => {
  const hanging = (printed: string, ...files: string[]) => hangingFiles(printed, {}, files);
  test("is named by the last line of a run that was ended", () => {
    expect(hanging("=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n=== RUN   TestServes\n")).toEqual([
      "TestServes",
    ]);
    expect(hanging("=== RUN   TestServes/here\n")).toEqual(["TestServes"]);
    expect(hanging("tests/test_a.py::test_serves ")).toEqual(["tests/test_a.py"]);
    expect(hanging("=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n")).toEqual([]);
  });
  describe("in a process that still ran", () => {
    const files = ["test/a.test.mjs", "test/serves.test.mjs", "lib/test/serves.test.mjs", "test.mjs"];
    const named = (...running: string[]) => hangingFiles("", { running, directory: "/w" }, files);
    const runner = "node --test test/a.test.mjs test/serves.test.mjs";
    test("is in the file that the process runs alone", () => {
      expect(named(`sh -c ${runner}`, runner, "/usr/bin/node /w/test/serves.test.mjs")).toEqual([
        "test/serves.test.mjs",
      ]);
      expect(named("node --enable-source-maps --import tsx /w/test/a.test.mjs")).toEqual(["test/a.test.mjs"]);
      expect(named("node /w/lib/test/serves.test.mjs")).toEqual(["lib/test/serves.test.mjs"]);
    });
    test.each([
      { running: [runner, "node --test", "node /w/src/a.mjs", "node /w/test/a.test.mjs.map"] },
      {
        running: [
          "bash -c mocha test/unit && node --test /w/test/a.test.mjs",
          "node /w/node_modules/.bin/mocha test/unit",
        ],
      },
      { running: ["/bin/sh -ec lint && /w/test/a.test.mjs"] },
      { running: ["node --test test/unit/ /w/test/a.test.mjs"] },
      { running: ["python /usr/bin/pytest -q tests/unit /w/test/a.test.mjs"] },
      { running: ["node --test /w/test/b*.mjs /w/test/a.test.mjs"] },
      // The file of a dependency, of another folder, and of a package that a script changed to.
      { running: ["node /w/node_modules/x/test.mjs", "node /v/test.mjs", "node test/a.test.mjs"] },
    ])("is in no file that is certain: $running", ({ running }) => expect(named(...running)).toEqual([]));
  });
  test.each([
    ["jest", "PASS test/a.test.js\nFAIL test/b.test.js (5.1 s)\n"],
    ["jest with projects", "PASS unit test/a.test.js\nFAIL my ui test/b.test.js (5.1 s, 30 MB heap size)\n"],
    [
      "vitest with projects",
      " ✓ |unit| test/a.test.js (1 test) 3ms\n ↓ |my ui| test/b.test.js (2 tests | 2 skipped)\n",
    ],
    [
      "vitest",
      "\n RUN  v4.1.12 /project\n\n ✓ test/a.test.js (2 tests) 3ms\n ❯ test/b.test.js (5 tests | 2 failed) 31ms\n",
    ],
  ])("is in the files that %s does not name as ended", (_, printed) => {
    const ended = ["test/a.test.js", "test/b.test.js"];
    expect(hanging(printed, ...ended, "test/serves.test.js")).toEqual(["test/serves.test.js"]);
    expect(hanging(printed, ...ended)).toEqual([]);
    expect(hanging(printed, ...ended, "c.test.js", "d.test.js", "e.test.js", "f.test.js")).toEqual([]);
    expect(hanging("", ...ended)).toEqual([]);
    // One line that names no file of the project: which files ended is not known.
    for (const line of ["PASS b/c.test.js\n", " ✓ test/a.test.js > adds 3ms\n"])
      expect(hanging(`${printed}${line}`, ...ended, "test/serves.test.js")).toEqual([]);
  });
  test("is left out of the next run", () => {
    expect(withoutFiles("go test -v ./...", ["TestServes", "TestListens"])).toBe(
      "go test -v ./... -skip '^(TestServes|TestListens)$'",
    );
    expect(withoutFiles("go test -v ./...", ["tests/test_a.py"])).toBe("go test -v ./...");
    const rest = "python -m pytest -v --ignore=tests/test_b.py";
    expect(withoutFiles(rest, ["tests/test_a.py"])).toBe(`${rest} --ignore=tests/test_a.py`);
    expect(withoutFiles("vitest run --silent", ["a.test.ts"])).toBe(
      "vitest run --silent --exclude=a.test.ts",
    );
    expect(withoutFiles("vitest run a.test.ts b.test.ts", ["a.test.ts"])).toBe("vitest run b.test.ts");
    expect(withoutFiles("jest a.test.js", ["a.test.js"])).toBeNull();
    const python = '"$(command -v python || command -v python3)" -m pytest -v';
    expect(withoutFiles(`${python} test_a.py test_b.py`, ["test_a.py"])).toBe(`${python} test_b.py`);
    expect(withoutFiles("jest --verbose", ["test/a.test.js", "b.test.js"])).toBe(
      "jest --verbose -- '^(?!(?:.*/)?(?:test/a\\.test\\.js|b\\.test\\.js)$)'",
    );
    expect(withoutFiles("jest --testPathIgnorePatterns e2e", ["it's.test.js"])).toBe(
      "jest --testPathIgnorePatterns e2e -- '^(?!(?:.*/)?(?:it\\'\\''s\\.test\\.js)$)'",
    );
  });
  test.each([
    "jest --ci src/",
    "jest -u src/",
    "jest --ci --",
    "jest --testPathPattern=src",
    "jest --ci&&tsc",
    "jest --ci && tsc",
    "vitest run && tsc",
    "vitest run; tsc",
    "mocha test/unit && node --test a.test.js",
    "node a.test.js && node b.test.js",
  ])("cannot be left out of %s", (line) => expect(withoutFiles(line, ["a.test.js"])).toBe(line));
  test("is not looked for in other runners' lines", () => {
    expect(withoutFiles("npm test", ["a.test.js"])).toBe("npm test");
  });
});
