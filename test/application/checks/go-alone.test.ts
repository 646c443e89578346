import { expect, test } from "bun:test";
import { type Affected, type RunDraftChecks, repeatWorse } from "../../../src/application/checks/affected.ts";
import { runNewTests } from "../../../src/application/checks/prove-tests.ts";
import { narrowLine } from "../../../src/domain/checks/narrow-check.ts";

const texts = new Map([
  [
    "a_test.go",
    "func TestOne(t *testing.T) {}\nfunc TestTwo(t *testing.T) {}\nfunc TestTwoMore(t *testing.T) {}\n",
  ],
]);
const check = { kind: "test", command: "go test ./...", line: "go test -v ./..." } as const;
const affected: Affected = {
  files: ["a_test.go"],
  touched: [],
  readers: new Map(),
  near: [],
  ranked: [],
  of: 1,
  texts,
  narrow(one, files, older = texts) {
    const line = narrowLine(one.line, files, older);
    return line === null ? null : { ...one, line };
  },
  cheaply: () => null,
  cheaper: () => [],
};
const lists = {
  worse: [],
  mended: [],
  newFailing: [],
  weakened: [],
  weakensTests: false,
  counts: null,
} as const;
const changes = (...paths: readonly string[]) => paths.map((path) => ({ path, kind: "modified" as const }));

function record() {
  const lines: string[] = [];
  const run: RunDraftChecks = async (which) => {
    lines.push(...which.map(({ line }) => line));
    return { ok: false, why: "aborted", message: "" };
  };
  return { lines, run };
}

test("a failing test of Go is repeated alone, without the others of its file", async () => {
  const { lines, run } = record();
  const tests = new Map([["example.com/m › TestTwo/case", "fail" as const]]);
  const counts = { passed: 0, failed: 1, skipped: 0 };
  const results = [
    { ...check, state: "red", results: { formats: ["go"], listed: "all", tests, counts } },
  ] as const;
  const judgement = { ...lists, verdict: "worse", worse: [...tests.keys()] } as const;
  const draft = { changes: () => changes("a.go"), diff: () => [] };
  const about = { checks: [check], results, judgement, check: run, draft, runs: [], repeatedMs: 0 };
  await repeatWorse(about, affected);
  expect(lines).toEqual(["go test -v ./ -run '^(TestTwo)$'"]);
});

test.each([
  ["its function", "TestTwo", "^(TestTwo)$"],
  ["a suite in another file", "TestSuite/TestMethod", "^(TestOne|TestTwo|TestTwoMore)$"],
])("a new test of Go is run over the old code by %s", async (_, name, pattern) => {
  const { lines, run } = record();
  const judgement = { ...lists, verdict: "same", newPassing: [`example.com/m › ${name}`] } as const;
  const draft = { changes: () => changes("a.go", "a_test.go") };
  await runNewTests({ checks: [check], results: [], judgement, check: run, limit: 9, draft, affected });
  expect(lines).toEqual([`go test -v ./ -run '${pattern}'`]);
});
