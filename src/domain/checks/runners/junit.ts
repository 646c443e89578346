import { countTests, createTestList, type TestOutcome, type TestResults } from "../test-results.ts";

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
      if (end !== "/") test = { name: junitTestName(attributes, suites), outcome: "pass" };
      if (closed && test !== null) {
        list.add(test.name, test.outcome);
        test = null;
      }
    } else if (tag === "testsuite" || tag === "testsuites") {
      if (end === "/") suites.pop();
      else if (alone !== "/") suites.push(tag === "testsuite" ? attribute(attributes, "name") : "");
    } else if (end !== "/" && test !== null) {
      if (tag !== "skipped") test.outcome = "fail";
      else if (test.outcome === "pass") test.outcome = "skip";
    }
  }
  if (suites.length > 0 || test !== null || list.tests.size === 0) return null;
  return { formats: ["junit"], listed: "all", tests: list.tests, counts: countTests(list.tests) };
}

/** The suites above it, its class and its own name, without what is said twice. */
function junitTestName(attributes: string, suites: readonly string[]): string {
  const parts = [...suites, attribute(attributes, "classname"), attribute(attributes, "name")];
  return parts.filter((part, at) => part !== "" && parts.indexOf(part) === at).join(" › ");
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`(?:^|\\s)${name}=(?:"([^"]*)"|'([^']*)')`).exec(attributes);
  return (value?.[1] ?? value?.[2] ?? "").replace(
    /&(lt|gt|amp|quot|apos);/g,
    (_, key) => ENTITIES[key] ?? "",
  );
}
