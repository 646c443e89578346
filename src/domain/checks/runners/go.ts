import { attemptOr } from "../../platform/error-text.ts";
import { ownMember } from "../../platform/json-members.ts";
import { countTests, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";
import { type CheckRunner, hasName } from "./check-runner.ts";

const RESULT = /^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/;
const RUN = /^=== RUN {3}(\S+)$/;
const PACKAGE = /^(?:(ok) {2}|(FAIL)|\? {3})\t(\S+)(?:\t| \[(setup failed)?)/;
/** As Go says of a module that is not here, and cannot be downloaded. */
const NO_MODULE =
  /: (?:no required module provides package|cannot find module providing package|missing go\.sum entry|module lookup disabled|.*(?:dial tcp|no such host))/;
const GO_TEXT_OUTCOMES = { PASS: "pass", FAIL: "fail", SKIP: "skip" } as const;

/** With and without `-v`, where passed tests bear their package's name alone. A test that was begun and has no result did not pass. */
function readGo(lines: readonly string[]): TestResults | null {
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
      const [, ok, failed, name = "", setup] = ended;
      packages++;
      // A module that cannot be downloaded says nothing of the code.
      if (setup !== undefined && lines.some((one) => NO_MODULE.test(one))) list.note(name, "error");
      else
        takePackage(list.note, name, pending, {
          ok: ok !== undefined,
          failed: failed !== undefined,
          verbose,
        });
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

interface GoEvent {
  readonly Action?: string;
  readonly Package?: string;
  readonly Test?: string;
}

const GO_JSON_OUTCOMES: Readonly<Record<string, TestOutcome>> = { pass: "pass", fail: "fail", skip: "skip" };

/** `go test -json`: one event a line. Every package that was begun must have ended; a test that was begun and did not end has failed. */
function readGoJson(lines: readonly string[]): TestResults | null {
  const tests = new Map<string, TestOutcome>();
  const open = new Set<string>();
  const failing = new Set<string>();
  for (const { Action = "", Package = "", Test } of lines.flatMap(readGoEvent)) {
    const outcome = ownMember(GO_JSON_OUTCOMES, Action);
    if (Action === "start") open.add(Package);
    else if (Action === "run") tests.set(`${Package} › ${Test}`, "fail");
    if (outcome === undefined) continue;
    if (Test !== undefined) {
      tests.set(`${Package} › ${Test}`, outcome);
      if (outcome === "fail") failing.add(Package);
    } else {
      open.delete(Package);
      if (outcome === "fail" && !failing.has(Package)) tests.set(Package, "fail");
    }
  }
  if (tests.size === 0 || open.size > 0) return null;
  return { formats: ["go-json"], listed: "all", tests, counts: countTests(tests) };
}

function readGoEvent(line: string): GoEvent[] {
  if (!line.startsWith('{"')) return [];
  const event = attemptOr(null, () => JSON.parse(line));
  return typeof event?.Action === "string" && typeof event.Package === "string" ? [event] : [];
}

export const go: CheckRunner = {
  name: "go",
  findTest: (files) =>
    hasName(files, "go.mod") ? { command: "go test ./...", line: "go test -v ./..." } : null,
  findInstall: (files) => (hasName(files, "go.mod") ? "go mod download" : null),
  programs: ["go"],
  calls: [/^go (?:test|vet)(?: |$)/],
  readers: [readGo, readGoJson],
  testPaths: [/_test\.go$/],
};
