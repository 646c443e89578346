import {
  countTests,
  createTestList,
  type TestList,
  type TestOutcome,
  type TestResults,
} from "../test-results.ts";
import type { CheckRunner } from "./check-runner.ts";

const RESULT = /^( *)(not )?ok (\d+)(?: -)?(?: (.*))?$/;
const PLAN = /^( *)1\.\.(\d+)(?: *#.*)?$/;
const DIRECTIVE = /\s# (skip|todo)\b.*$/i;
const LEVEL = 4;

interface Case {
  readonly name: string;
  readonly outcome: TestOutcome;
}

/** The tests of one indentation, until its plan is fulfilled. */
interface Level {
  cases: Case[];
  count: number;
  plan: number | null;
}

const emptyLevel = (): Level => ({ cases: [], count: 0, plan: null });
const isFull = ({ count, plan }: Level) => plan !== null && plan === count;

/**
 * TAP 12 to 14, as node:test, tape and mocha print it: numbers must follow each other and the plan must be fulfilled; any other
 * `ok` is output of a test. Only Node 20 numbers a file that cannot be loaded among the files. Subtests precede the line of their
 * parent, which then does not count as a test.
 */
function readTap(lines: readonly string[]): TestResults | null {
  const list = createTestList();
  const grouped = !lines.some((line) => /^ *# Subtest: /.test(line));
  let levels: Level[] = [emptyLevel()];
  let group = "";
  let block: string | null = null;
  for (const [at, line] of lines.entries()) {
    if (block !== null) {
      if (line === `${block}...`) block = null;
      continue;
    }
    block = /^( +)---$/.exec(line)?.[1] ?? null;
    if (block !== null) continue;
    const top = levels[0] as Level;
    if (isFull(top) && top.count > 0 && /^(?:TAP version|(?:not )?ok 1\b|1\.\.)/.test(line)) {
      close(top, list);
      levels = [emptyLevel()];
    }
    if (grouped && /^# (?!tests |pass |fail |ok$|skip|todo)/.test(line)) group = `${line.slice(2)} › `;
    takePlan(levels, PLAN.exec(line));
    takeResult(levels, RESULT.exec(line), group, lines[at - 1]);
  }
  const top = levels[0] as Level;
  if (top.count > 0 || top.plan !== null) {
    if (!isFull(top)) return null;
    close(top, list);
  }
  if (list.tests.size === 0) return null;
  return { formats: ["tap"], listed: "all", tests: list.tests, counts: countTests(list.tests) };
}

function takePlan(levels: Level[], match: RegExpExecArray | null): void {
  if (match === null) return;
  const depth = depthOf(match[1]);
  // A plan of a level in which nothing was seen is a plan only at the top: else it may be anything.
  const level = depth === null ? undefined : levels[depth];
  if (level !== undefined && level.plan === null) level.plan = Number(match[2]);
}

function takeResult(levels: Level[], match: RegExpExecArray | null, group: string, before = ""): void {
  if (match === null) return;
  const [, indent, not, number, text = ""] = match;
  const depth = depthOf(indent);
  if (depth === null || depth > levels.length) return;
  if (levels[depth] === undefined) levels[depth] = emptyLevel();
  const level = levels[depth];
  const isNext = Number(number) === level.count + 1 || before === `${indent}# Subtest: ${text}`;
  if (!isNext || (level.plan !== null && level.count >= level.plan)) return;
  level.count++;
  const directive = DIRECTIVE.exec(text);
  const outcome: TestOutcome = directive !== null ? "skip" : not === undefined ? "pass" : "fail";
  const name = `${depth === 0 ? group : ""}${text.replace(DIRECTIVE, "").replaceAll("\\#", "#")}`;
  const below = levels[depth + 1];
  levels.length = depth + 1;
  const subtests = below !== undefined && isFull(below) ? below.cases : [];
  const inside = subtests.map((one) => ({ ...one, name: `${name} › ${one.name}` }));
  // A suite can fail by itself, in a hook.
  const alone = inside.length === 0 || (outcome === "fail" && !inside.some((one) => one.outcome === "fail"));
  level.cases.push(...inside, ...(alone ? [{ name, outcome }] : []));
}

function depthOf(indent = ""): number | null {
  return indent.length % LEVEL === 0 ? indent.length / LEVEL : null;
}

function close(level: Level, list: TestList): void {
  for (const { name, outcome } of level.cases) list.add(name, outcome);
}

/** The protocol that tape, node and others speak. */
export const tap: CheckRunner = { name: "tap", readers: [readTap] };
