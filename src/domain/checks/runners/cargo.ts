import { confirmTestCounts, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";
import { type CheckRunner, hasName } from "./check-runner.ts";

const TARGET = /^ +(?:Running (?:unittests )?(\S+) \(|Doc-tests (\S+)$)/;
const TEST = /^test (.+?) \.\.\. (ok|FAILED|ignored(?:, .*)?)$/;
const RESULT = /^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;/;

/** `cargo test`: one section a target, from `running N tests` to `test result:`. */
function readCargo(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const failures = new Set<string>();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let target = "";
  let state: "outside" | "tests" | "failures" = "outside";
  let runs = 0;
  for (const line of lines) {
    const names = TARGET.exec(line);
    const test = state === "tests" ? TEST.exec(line) : null;
    const result = RESULT.exec(line);
    if (names !== null && state === "outside") target = names[1] ?? names[2] ?? "";
    else if (/^running \d+ tests?$/.test(line) && state === "outside") state = "tests";
    else if (line === "failures:" && state !== "outside") state = "failures";
    else if (test !== null) list.add(cargoTestName(target, test[1] as string), cargoOutcome(test[2]));
    else if (result !== null) {
      counts.passed += Number(result[1]);
      counts.failed += Number(result[2]);
      counts.skipped += Number(result[3]);
      state = "outside";
      runs++;
    } else if (state === "failures" && /^ {4}\S/.test(line)) failures.add(cargoTestName(target, line.trim()));
  }
  return runs === 0 || state !== "outside" ? null : confirmTestCounts("cargo", counts, list.tests, failures);
}

/** The line of a documentation test moves with every edit above it. */
function cargoTestName(target: string, name: string): string {
  return `${target} › ${name.replace(/ \(line \d+\)/, "")}`;
}

function cargoOutcome(word: string | undefined): TestOutcome {
  if (word === "ok") return "pass";
  return word === "FAILED" ? "fail" : "skip";
}

/** Leaves out the tests inside the sources, which may take minutes to compile. */
const CARGO_PARTS = [
  {
    command: "cargo test --lib --bins",
    line: "cargo test --offline --no-fail-fast --lib --bins",
    isShorter: true,
  },
] as const;

export const cargo: CheckRunner = {
  name: "cargo",
  retry: (line) => (/\bcargo test\b/.test(line) ? line.replace(/\bcargo test\b/g, "$& --offline") : null),
  findTest: (files) =>
    hasName(files, "Cargo.toml")
      ? { command: "cargo test", line: "cargo test --no-fail-fast", instead: CARGO_PARTS }
      : null,
  findInstall: (files) => (hasName(files, "Cargo.toml") ? "cargo fetch" : null),
  programs: ["cargo"],
  calls: [/^cargo (?:test|check|clippy)(?: |$)/],
  readers: [readCargo],
  decidedBy: [/(?:^|\/)\.cargo\/config(?:\.toml)?$/, /(?:^|\/)Cargo\.toml$/],
};
