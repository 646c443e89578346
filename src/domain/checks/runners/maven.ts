import { confirmTestCounts, createTestList, type TestResults } from "../test-results.ts";
import { type CheckRunner, hasName } from "./check-runner.ts";

const BEGUN = /^(?:\[INFO\] )?Running (\S+)$/;
const ENDED = /\bTests run: \d+, .* Time elapsed: .*?(?: in (\S+))?$/;
const TEST = /^(?:\[\w+\] )?(\S.*?)(?: (--)| ) Time elapsed: [\d.,]+ s(?:ec)?(?: +<<< (FAILURE|ERROR)!)?$/;
/** A message of a failure may end in the same word, but neither begins with a level nor is a method with its class. */
const SKIPPED = /^(?:\[\w+\] (\S.*)|(\S+\(\S+\))) skipped$/;
const RESULTS = /^(?:\[\w+\] )?Results ?:$/;
const TOTAL =
  /^(?:\[\w+\] +)?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: \d+)?$/;
const END = /^\[INFO\] BUILD (SUCCESS|FAILURE)$/;
const SUMMARY = /^\[INFO\] Reactor Summary\b/;
/** Tests of a module did not run, or not to their end: it does not compile, a module that it needs failed, its fork crashed. */
const LACKS_TESTS =
  /^\[INFO\] .* SKIPPED$|^\[ERROR\] (?:COMPILATION ERROR|Crashed tests:|Failed to execute goal (?!.*: (?:There are test failures\.)?$)|.*\b[Tt]he fork(?:ed)?\b)/;
/** The lines of modules that are built at the same time are mixed. */
const IN_PARALLEL = /^\[INFO\] Using the MultiThreadedBuilder\b/;

/** Surefire 2 and 3 with `reportFormat=plain`: after each class a line a test, the counts after each module. */
function readSurefire(lines: readonly string[]): TestResults | null {
  if (lines.some((line) => IN_PARALLEL.test(line)) || lacksTests(lines)) return null;
  const list = createTestList();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const classes = new Set<string>();
  let [begunClass, ofClass] = ["", ""];
  let skips = 0;
  let modules = 0;
  // The output of tests lies between the lines that begin and end their class.
  let part: "output" | "tests" | "results" = "output";
  for (const line of lines) {
    const begun = BEGUN.exec(line);
    const ended = ENDED.exec(line);
    const test = part === "tests" ? TEST.exec(line) : null;
    const skipped = part === "tests" ? SKIPPED.exec(line) : null;
    const total = part === "results" ? TOTAL.exec(line) : null;
    if (begun !== null) {
      begunClass = begun[1] ?? "";
      classes.add(begunClass);
      part = "output";
    } else if (ended !== null) {
      ofClass = ended[1] ?? begunClass;
      classes.add(ofClass);
      part = "tests";
    } else if (RESULTS.test(line)) part = "results";
    else if (test !== null) {
      const [, title = "", dashes, failure] = test;
      const name = nameTest(title, { ofClass, classes, isQualified: dashes !== undefined });
      list.add(name, failure === undefined ? "pass" : "fail");
    } else if (skipped !== null) {
      const title = skipped[1] ?? skipped[2] ?? "";
      skips++;
      // Surefire 3.2 names only the class of a skipped test.
      if (!classes.has(title)) list.add(nameTest(title, { ofClass, classes, isQualified: false }), "skip");
    } else if (total !== null) {
      const [run = 0, failures = 0, errors = 0, skippedTests = 0] = total.slice(1).map(Number);
      counts.passed += run - failures - errors - skippedTests;
      counts.failed += failures + errors;
      counts.skipped += skippedTests;
      modules++;
      part = "output";
    }
  }
  const isRed = lines.findLast((line) => END.test(line))?.endsWith("FAILURE") ?? true;
  if (modules === 0 || (isRed && counts.failed === 0)) return null;
  const results = confirmTestCounts("surefire", counts, list.tests);
  // A skipped test without a line would be one that is gone.
  if (results?.listed !== "all" || skips === counts.skipped) return results;
  const failed = new Map([...list.tests].filter(([, outcome]) => outcome === "fail"));
  return { ...results, listed: "failed", tests: failed };
}

/** Asked of Maven's own last lines: the tests may print anything. */
function lacksTests(lines: readonly string[]): boolean {
  const end = lines.findLastIndex((line) => END.test(line));
  if (lines[end]?.endsWith("SUCCESS")) return false;
  const summary = lines.findLastIndex((line) => SUMMARY.test(line));
  return lines.slice(Math.max(0, summary, summary < 0 ? end : 0)).some((line) => LACKS_TESTS.test(line));
}

/** Surefire 3 prints `p.SumTest.adds`, its older versions `adds(p.SumTest)` or `adds`. A class that cannot be set up is named alone. */
function nameTest(
  title: string,
  of: {
    readonly ofClass: string;
    readonly classes: ReadonlySet<string>;
    readonly isQualified: boolean;
  },
): string {
  const { ofClass, classes, isQualified } = of;
  if (classes.has(title)) return title;
  const known = [...title.matchAll(/\./g)].find(({ index }) => classes.has(title.slice(0, index)));
  if (known !== undefined) return `${title.slice(0, known.index)} › ${title.slice(known.index + 1)}`;
  if (isQualified) return title.replace(/\.(?=[^.([{ ]*(?:[([{ ].*)?$)/, " › ");
  return `${ofClass} › ${title.endsWith(`(${ofClass})`) ? title.slice(0, -ofClass.length - 2) : title}`;
}

/** One call without other shell syntax, to which properties can be added. */
const CALL = /^(?:\.\/)?mvnw?(?: -[^\s&|;<>()`$]+)* test$/;
/** The names that Surefire runs by default, in a project of one module. */
const TEST_CLASS =
  /^src\/test\/(?:.+\/)?((?!Abstract)(?:Test\w*|\w+(?:Tests?|TestCase)))\.(?:java|kt|groovy)$/;

/** Some versions run nested tests only by their own names, which would also run nested classes that a whole run leaves out. */
const RUNS_NESTED = /@Nested\b|\bEnclosed\b/;

/** The classes of these files. A module that has none of the classes would fail. */
function narrowMaven(
  line: string,
  files: readonly string[],
  texts: ReadonlyMap<string, string>,
): string | null {
  const classes = new Set(files.map((path) => TEST_CLASS.exec(path)?.[1]));
  if (!CALL.test(line) || classes.has(undefined)) return null;
  if (files.some((path) => RUNS_NESTED.test(texts.get(path) ?? "@Nested"))) return null;
  return `${line} -Dtest=${[...classes].join(",")}`;
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
