import { countTests, type TestOutcome, type TestResults } from "../test-results.ts";

interface GoEvent {
  readonly Action?: string;
  readonly Package?: string;
  readonly Test?: string;
}

const GO_JSON_OUTCOMES: Readonly<Record<string, TestOutcome | undefined>> = {
  pass: "pass",
  fail: "fail",
  skip: "skip",
};

/** `go test -json`: one event a line. Every package that was begun must have ended; a test that was begun and did not end has failed. */
export function readGoJson(lines: readonly string[]): TestResults | null {
  const tests = new Map<string, TestOutcome>();
  const open = new Set<string>();
  const failing = new Set<string>();
  for (const { Action = "", Package = "", Test } of lines.flatMap(readGoEvent)) {
    const outcome = GO_JSON_OUTCOMES[Action];
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
  try {
    const event = JSON.parse(line) as GoEvent;
    return typeof event.Action === "string" && typeof event.Package === "string" ? [event] : [];
  } catch {
    return [];
  }
}
