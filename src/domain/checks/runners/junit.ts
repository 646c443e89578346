import { countTests, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";

/** The line before the reports that a check prints for their reader alone. */
export const REPORTS = "##picoclaw-reports";

/** Prints the reports of this run. Green without a report ran no test; red without a failed one has tests that could not run. */
export function withReports(line: string, where: string): string {
  const found = `reports() { find ${where} "$@" 2>/dev/null; }; reports -delete`;
  const holds = 'reports -exec grep -lE "$([ $s = 0 ] && echo "<testcase" || echo "<(failure|error)")" {} +';
  const printed = `echo; echo "${REPORTS}"; reports -exec cat {} +; echo; exit $s`;
  return `${found}; ${line}; s=$?; [ -n "$(${holds})" ] || exit $(( s ? s : 126 )); ${printed}`;
}

/** ctest and googletest report tests that are switched off with a status alone. */
const isOff = (attributes: string) => /^(?:disabled|notrun)$/.test(attribute(attributes, "status"));
/** As ctest says of tests that it could not start, which are not skipped: it ends red. */
const NOT_SET_UP = /^(?:Unable to find executable|Required Files Missing|Fixture dependency failed)/;
const TAG = /<(\/?)(testsuites?|testcase|failure|error|skipped)\b((?:[^>"']|"[^"]*"|'[^']*')*?)(\/?)>/g;

/** JUnit's XML on the output: printed by vitest, node:test, pytest and others, some with an option. */
export function readJunit(lines: readonly string[]): TestResults | null {
  const text = lines.join("\n");
  const from = text.search(/<testsuites?\b/);
  if (from < 0) return null;
  const plain = text.slice(from).replace(/<!\[CDATA\[.*?\]\]>|<!--.*?-->/gs, "");
  const list = createTestList();
  const suites: string[] = [];
  let test: { readonly name: string; outcome: TestOutcome } | null = null;
  for (const [, end, tag, attributes = "", alone] of plain.matchAll(TAG)) {
    const closed = end === "/" || alone === "/";
    if (tag === "testcase") {
      if (end !== "/")
        test = { name: junitTestName(attributes, suites), outcome: isOff(attributes) ? "skip" : "pass" };
      if (closed && test !== null) {
        list.add(test.name, test.outcome);
        test = null;
      }
    } else if (tag === "testsuite" || tag === "testsuites") {
      if (end === "/") suites.pop();
      else if (alone !== "/") suites.push(tag === "testsuite" ? attribute(attributes, "name") : "");
    } else if (end !== "/" && test !== null) {
      if (tag !== "skipped") test.outcome = "fail";
      else if (test.outcome !== "fail")
        test.outcome = NOT_SET_UP.test(attribute(attributes, "message")) ? "error" : "skip";
    }
  }
  if (suites.length > 0 || test !== null || list.tests.size === 0) return null;
  return { formats: ["junit"], listed: "all", tests: list.tests, counts: countTests(list.tests) };
}

/** The suites above it, its class and its own name, without what is said twice, a nested class of its own, or ctest's name of all tests. */
function junitTestName(attributes: string, suites: readonly string[]): string {
  const own = attribute(attributes, "classname");
  const outer = suites.filter((suite) => !suite.startsWith(`${own}$`));
  return [...outer, own, attribute(attributes, "name")]
    .filter((part, at, parts) => part !== "" && part !== "(empty)" && parts.indexOf(part) === at)
    .join(" › ");
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`(?:^|\\s)${name}=(?:"([^"]*)"|'([^']*)')`).exec(attributes);
  const text = value?.[1] ?? value?.[2] ?? "";
  return text.replace(/&(\w+);/g, (whole, key) => ENTITIES[key] ?? whole);
}
