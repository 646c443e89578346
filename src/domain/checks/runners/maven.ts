import { confirmTestCounts, createTestList, type TestResults } from "../test-results.ts";
import { type CheckRunner, hasName } from "./check-runner.ts";

const CLASS = /^(?:\[INFO\] )?Running (\S+)$|\bTests run: \d+, .* Time elapsed: .* in (\S+)$/;
const TEST = /^(?:\[\w+\] )?(\S.*?)(?: (--)| ) Time elapsed: [\d.,]+ s(?:ec)?(?: +<<< (FAILURE|ERROR)!)?$/;
const TOTAL =
  /^(?:\[\w+\] +)?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: \d+)?$/;
const END = /^\[INFO\] BUILD (?:SUCCESS|FAILURE)$/;

/** Surefire 2 and 3 with `reportFormat=plain`: after each class a line a test, the counts after each module. */
function readSurefire(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let ofClass = "";
  let modules = 0;
  for (const line of lines) {
    const begun = CLASS.exec(line);
    const test = begun === null ? TEST.exec(line) : null;
    const total = TOTAL.exec(line);
    if (begun !== null) ofClass = begun[1] ?? begun[2] ?? "";
    else if (test !== null)
      list.add(
        nameTest(test[1] as string, ofClass, test[2] !== undefined),
        test[3] === undefined ? "pass" : "fail",
      );
    else if (total !== null) {
      const [run = 0, failures = 0, errors = 0, skipped = 0] = total.slice(1).map(Number);
      counts.passed += run - failures - errors - skipped;
      counts.failed += failures + errors;
      counts.skipped += skipped;
      modules++;
    }
  }
  return modules === 0 || !lines.some((line) => END.test(line))
    ? null
    : confirmTestCounts("surefire", counts, list.tests);
}

/** Surefire 3 prints `p.SumTest.adds`, its older versions `adds(p.SumTest)` or `adds`. A class that cannot be set up is named alone. */
function nameTest(title: string, ofClass: string, isQualified: boolean): string {
  if (title === ofClass) return title;
  if (isQualified) return title.replace(/\.(?=[^.([{ ]*(?:[([{ ].*)?$)/, " › ");
  return `${ofClass} › ${title.endsWith(`(${ofClass})`) ? title.slice(0, -ofClass.length - 2) : title}`;
}

/** One call without other shell syntax, to which properties can be added. */
const CALL = /^(?:\.\/)?mvnw?(?: -[^\s&|;<>()`$]+)* test$/;
/** The names that Surefire runs by default, in a project of one module. */
const TEST_CLASS =
  /^src\/test\/(?:.+\/)?((?!Abstract)(?:Test\w*|\w+(?:Tests?|TestCase)))\.(?:java|kt|groovy)$/;

/** The classes of these files and those nested in them. A module that has none of the classes would fail. */
function narrowMaven(line: string, files: readonly string[]): string | null {
  const classes = new Set(files.map((path) => TEST_CLASS.exec(path)?.[1]));
  if (!CALL.test(line) || classes.has(undefined)) return null;
  return `${line} '-Dtest=${[...classes].flatMap((name) => [name, `${name}$*`]).join(",")}'`;
}

export const maven: CheckRunner = {
  name: "maven",
  findTest(files) {
    const program = hasName(files, "mvnw") ? "./mvnw" : "mvn";
    const line = `${program} -B -fae -Dsurefire.reportFormat=plain test`;
    return hasName(files, "pom.xml") ? { command: `${program} test`, line } : null;
  },
  programs: ["mvn"],
  calls: [/^(?:\.\/)?mvnw?(?: -\S+)* (?:test|check|verify)(?: |$)/],
  readers: [readSurefire],
  decidedBy: [/(?:^|\/)(?:mvnw|\.mvn\/.+)$/],
  narrow: narrowMaven,
};
