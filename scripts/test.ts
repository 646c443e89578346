/**
 * `npm test`: every check as a named step, all of them even after a failure, and the count at the end.
 * `npm test -- PATH …` runs those test files only.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const bun = process.execPath;
const paths = process.argv.slice(2);
/**
 * Where the same tree is checked elsewhere at the same time: the tests alone, with fewer random rounds, and without those
 * that no program or file of the machine can change.
 */
const isBrief = process.env.PICOCLAW_TEST_BRIEF === "1";
const tool = (name: string) => join(root, "node_modules/.bin", name);

/** A second run checks what changed alone: a fifth of the time. */
const REMEMBERED_TYPES = ["--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.tsbuildinfo"];

interface Step {
  readonly name: string;
  readonly argv: readonly string[];
}

interface Finished {
  readonly exitCode: number;
  readonly output: string;
}

const CHECKS: readonly Step[] = [
  { name: "format and lint", argv: [tool("biome"), "check", "."] },
  { name: "types", argv: [tool("tsc"), "--noEmit", ...REMEMBERED_TYPES] },
  { name: "import directions", argv: ["scripts/check-imports.ts"] },
  { name: "no pages or hosts that a contributor lacks", argv: ["scripts/check-citations.ts"] },
  { name: "licences of what is shipped", argv: ["scripts/check-licences.ts"] },
  { name: "nothing unused", argv: [tool("knip"), "--no-progress"] },
  {
    name: "nothing that only tests use",
    argv: [tool("knip"), "--no-progress", "--production", "--config", "knip.production.json"],
  },
];
const FLOORS: Step = { name: "coverage floors", argv: ["scripts/coverage-floors.ts"] };
const TEST_OPTIONS = ["--only-failures", "--timeout", "300000"];
const timesOf = (part: string) => join(root, "coverage", `${part}.xml`);
const reportsIn = (part: string) => [
  "--reporter=junit",
  `--reporter-outfile=${timesOf(part)}`,
  ...(isBrief ? [] : ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=coverage/${part}`]),
];
/** Suites that mostly wait (for containers, browsers, whole programs, deaths) run beside those that mostly compute. */
const WAITING = {
  "tests with containers": /^\.\/test\/infrastructure\/(?:containers|tasks)\//,
  "tests of whole programs": /^\.\/test\/e2e\//,
  "tests of doors and docs": /^\.\/test\/(?:adapters\/(?:web|acp)|application\/serve|docs)\//,
  "tests of faults": /^\.\/test\/(?:faults|hostile|contracts)\//,
};

/** Quiet on success. The runtime itself runs the tools, so that no particular Node is needed. */
async function runStep(step: Step, live: (line: string) => boolean): Promise<Finished> {
  const began = performance.now();
  const child = Bun.spawn([bun, "--no-env-file", ...step.argv], {
    cwd: root,
    env: {
      ...process.env,
      TEST_NIGHTLY: process.env.PICOCLAW_TEST_NIGHTLY ?? "",
      FORCE_COLOR: "0",
      NO_COLOR: "1",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const lines: string[] = [];
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const line of linesOf(stream)) {
      lines.push(line);
      if (live(line)) console.log(line);
    }
  };
  await Promise.all([collect(child.stdout), collect(child.stderr)]);
  const exitCode = await child.exited;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const used = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  console.log(
    `${exitCode === 0 ? "ok  " : "FAIL"} ${step.name} (${seconds} s, ${used.toFixed(0)} s of processor time)`,
  );
  return { exitCode, output: lines.join("\n") };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const pieces = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = pieces.pop() ?? "";
    yield* pieces;
  }
  if (rest) yield rest;
}

async function failures(steps: readonly Step[]): Promise<number> {
  let failed = 0;
  for (const step of steps) {
    const { exitCode, output } = await runStep(step, () => false);
    if (exitCode === 0) continue;
    failed++;
    console.log(output);
  }
  return failed;
}

function count(output: string, what: "pass" | "fail"): number {
  return Number(new RegExp(`^ *(\\d+) ${what}$`, "m").exec(output)?.[1] ?? 0);
}

/** The suites that this user can run: `test/root` is for root alone, and `.ci/run` calls it apart. */
function testFiles(): string[] {
  const folder = join(root, "test");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts") && (process.getuid?.() === 0 || !path.startsWith("root/")))
    .filter((path) => !(isBrief && /^(?:domain|config)\//.test(path)))
    .map((path) => `./test/${path}`)
    .sort();
}

async function runTests(name: string, argv: readonly string[]) {
  const skipped = new Set<string>();
  const { exitCode, output } = await runStep({ name, argv }, (line) => {
    if (line.startsWith("skipped: ")) skipped.add(line);
    else return !/^\S+\.test\.tsx?:$|^\s*$/.test(line);
    return false;
  });
  for (const line of skipped) console.log(line);
  const failed = count(output, "fail");
  // A runner that died, or an error outside any test, has no failed test to show for it.
  return { passed: count(output, "pass"), failed: exitCode !== 0 && failed === 0 ? 1 : failed };
}

/** Where the time of a part goes: its slowest files. */
function printSlowest(name: string): void {
  const report = timesOf(name.replaceAll(" ", "-"));
  if (!existsSync(report)) return;
  const files = [
    ...readFileSync(report, "utf8").matchAll(/^ {2}<testsuite name="([^"]+)".* time="([\d.]+)"/gm),
  ];
  const slowest = files
    .map(([, file = "", seconds]) => ({ file: file.replace(/^test\//, ""), seconds: Number(seconds) }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 8)
    .map(({ file, seconds }) => `${file} ${seconds.toFixed(0)} s`);
  if (slowest.length > 0) console.log(`slowest ${name}: ${slowest.join(", ")}`);
}

async function main(): Promise<number> {
  if (paths.length > 0) return end(await runTests("tests", ["test", ...TEST_OPTIONS, ...paths]), 0);
  const failedChecks = isBrief ? 0 : await failures(CHECKS);
  const files = testFiles();
  if (files.length === 0) return end({ passed: 0, failed: 0 }, failedChecks);
  rmSync(join(root, "coverage"), { recursive: true, force: true });
  mkdirSync(join(root, "coverage"));
  const parts = {
    ...Object.fromEntries(
      Object.entries(WAITING).map(([name, those]) => [name, files.filter((file) => those.test(file))]),
    ),
    "tests that compute": files.filter((file) => !Object.values(WAITING).some((those) => those.test(file))),
  };
  const run = Object.entries(parts)
    .filter(([, some]) => some.length > 0)
    .map(([name, some]) =>
      runTests(name, ["test", ...TEST_OPTIONS, ...reportsIn(name.replaceAll(" ", "-")), ...some]),
    );
  const tests = (await Promise.all(run)).reduce((sum, each) => ({
    passed: sum.passed + each.passed,
    failed: sum.failed + each.failed,
  }));
  for (const name of Object.keys(parts)) printSlowest(name);
  const failedFloors = isBrief ? 0 : await failures([FLOORS]);
  return end(tests, failedChecks + failedFloors);
}

function end(tests: { readonly passed: number; readonly failed: number }, failedSteps: number): number {
  const failed = tests.failed + failedSteps;
  console.log(`${tests.passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
