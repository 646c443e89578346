import { countTests, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";

const RESULT = /^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/;
const RUN = /^=== RUN {3}(\S+)$/;
const PACKAGE = /^(?:(ok) {2}|(FAIL)|\? {3})\t(\S+)(?:\t| \[)/;
const GO_TEXT_OUTCOMES = { PASS: "pass", FAIL: "fail", SKIP: "skip" } as const;

/**
 * `go test`, with and without `-v`. Tests stand before the line of their package. Without `-v` what passed has the name of its
 * package alone. A test that was begun and has no result did not pass.
 */
export function readGo(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  let pending = new Map<string, TestOutcome | null>();
  let verbose = false;
  let packages = 0;
  for (const line of lines) {
    const run = RUN.exec(line)?.[1];
    const result = RESULT.exec(line);
    const ended = PACKAGE.exec(line);
    if (run !== undefined) {
      verbose = true;
      pending.set(run, null);
    } else if (result !== null) {
      const name = result[2] as string;
      const outcome = GO_TEXT_OUTCOMES[result[1] as keyof typeof GO_TEXT_OUTCOMES];
      if (pending.get(name) !== "fail") pending.set(name, outcome);
    } else if (ended !== null) {
      const [, ok, failed, name = ""] = ended;
      packages++;
      takePackage(list.note, name, pending, { ok: ok !== undefined, failed: failed !== undefined, verbose });
      pending = new Map();
    }
  }
  if (packages === 0 || pending.size > 0 || list.tests.size === 0) return null;
  return {
    formats: ["go"],
    listed: verbose ? "all" : "failed",
    tests: list.tests,
    counts: countTests(list.tests),
  };
}

function takePackage(
  note: (name: string, outcome: TestOutcome) => void,
  name: string,
  tests: ReadonlyMap<string, TestOutcome | null>,
  { ok, failed, verbose }: { readonly ok: boolean; readonly failed: boolean; readonly verbose: boolean },
): void {
  let failures = 0;
  for (const [test, outcome] of tests) {
    const known = outcome ?? (failed ? "fail" : "skip");
    if (known === "fail") failures++;
    // Without -v, what a package prints is not sorted out: only failures are news.
    if (verbose || known === "fail") note(`${name} › ${test}`, known);
  }
  if (ok && !verbose) note(name, "pass");
  if (failed && failures === 0) note(name, "fail");
}
