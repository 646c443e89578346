import {
  confirmTestCounts,
  createTestList,
  type TestList,
  type TestOutcome,
  type TestResults,
} from "../test-results.ts";

const NODE_LINE = /^( *)([✔✖﹣▶⚠]) (.*?)(?: \([\d.]+ms\))?( # .*)?$/u;
const NODE_TIMED = / \(\d+\.\d+ms\)(?: # .*)?$/;
const NODE_COUNT = /^ℹ (tests|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;

interface NodeSuite {
  readonly indent: number;
  readonly title: string;
}

/** The reporter `spec` of node:test. A suite opens with ▶ and ends with a line of its own name, which is no test. */
export function readNodeSpec(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  let suites: NodeSuite[] = [];
  let totals: Record<string, number> = {};
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let runs = 0;
  let inFailures = false;
  for (const line of lines) {
    if (line === "✖ failing tests:") inFailures = true;
    const count = NODE_COUNT.exec(line);
    if (count === null) {
      if (!inFailures) suites = takeNodeLine(suites, NODE_LINE.exec(line), list);
      continue;
    }
    if (count[1] === "tests") {
      totals = {};
      suites = [];
      inFailures = false;
    }
    totals[count[1] as string] = Number(count[2]);
    if (count[1] !== "duration_ms") continue;
    const { pass = 0, fail = 0, cancelled = 0, skipped = 0, todo = 0 } = totals;
    counts.passed += pass;
    counts.failed += fail + cancelled;
    counts.skipped += skipped + todo;
    runs++;
  }
  return runs === 0 || suites.length > 0 ? null : confirmTestCounts("node-spec", counts, list.tests);
}

function takeNodeLine(suites: NodeSuite[], match: RegExpExecArray | null, list: TestList): NodeSuite[] {
  if (match === null) return suites;
  const [whole, spaces = "", mark, title = "", remark = ""] = match;
  const indent = spaces.length;
  const outer = suites.filter((suite) => suite.indent < indent);
  const ends = suites.some((suite) => suite.indent === indent && suite.title === title);
  if (ends && (mark !== "▶" || whole.endsWith("ms)"))) return outer;
  if (mark === "▶") return [...outer, { indent, title }];
  if (!NODE_TIMED.test(whole)) return suites;
  list.add([...outer.map((suite) => suite.title), title].join(" › "), nodeOutcome(mark, remark));
  return outer;
}

function nodeOutcome(mark: string | undefined, remark: string): TestOutcome {
  if (/# (?:SKIP|TODO)/i.test(remark) || mark === "﹣" || mark === "⚠") return "skip";
  return mark === "✔" ? "pass" : "fail";
}
