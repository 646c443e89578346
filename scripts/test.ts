/**
 * `npm test`: every check as a named step, all of them even after a failure, and the count at the end.
 * `npm test -- PATH …` runs those test files only. `npm run record` runs each file that is new or that changed in a process of its
 * own under strace, and writes which of them touch a part that machines differ in (`machine-parts.ts`); `npm run record -- PATH …`
 * does so for all files there.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { clearRun } from "../test/left-behind.ts";
import { needsEngine } from "../test/require.ts";
import {
  type FileRecord,
  FULL_MACHINE,
  hashText,
  mergeRecord,
  mergeRun,
  NOT_RUN,
  type PartsRecord,
  readParts,
  readRecord,
  selectFiles,
  TRACED,
  writeRecord,
} from "./machine-parts.ts";

const root = join(import.meta.dir, "..");
const bun = process.execPath;
const paths = process.argv.slice(2);
/**
 * Where the same tree is checked elsewhere at the same time, the name of this machine: the tests alone, with fewer random rounds,
 * and of them the selection of this day (`machine-parts.ts`).
 */
const machine = process.env.PICOCLAW_TEST_BRIEF ?? "";
const isBrief = machine !== "";
/** At a submission the full machine leaves costly files to other days, each to its turn. */
const isDaily = (process.env.PICOCLAW_TEST_DAILY ?? "") !== "";
const isWhole = (process.env.PICOCLAW_TEST_WHOLE ?? "") !== "";
/** Names the temporary folders of this run, and through them all that it starts. */
const runName = process.pid.toString(36);
const today = new Date().toISOString().slice(0, 10);
const tool = (name: string) => join(root, "node_modules/.bin", name);

/** A second run checks what changed alone: a fifth of the time. */
const REMEMBERED_TYPES = ["--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.tsbuildinfo"];

interface Step {
  readonly name: string;
  readonly argv: readonly string[];
  /** A program that starts it, with its arguments. */
  readonly under?: readonly string[];
  /** What it prints is shown where it passes too. */
  readonly isTold?: boolean;
}

interface Part {
  readonly name: string;
  readonly folder: string;
  readonly files: readonly string[];
  readonly needsImages: boolean;
  readonly isMeasured: boolean;
}

interface Finished {
  readonly exitCode: number;
  readonly output: string;
}

const CHECKS: readonly Step[] = [
  { name: "format and lint", argv: [tool("biome"), "check", "."] },
  // On one thread it takes a quarter less of the processor, which the tests beside it use.
  { name: "types", argv: [tool("tsc"), "--noEmit", "--singleThreaded", ...REMEMBERED_TYPES] },
  { name: "import directions", argv: ["scripts/check-imports.ts"] },
  { name: "size of src and doors of columns", argv: ["scripts/check-house.ts"], isTold: true },
  { name: "surfaces that could be taken out", argv: ["scripts/check-removable.ts"], isTold: true },
  { name: "no pages or hosts that a contributor lacks", argv: ["scripts/check-citations.ts"] },
  { name: "licences of what is shipped", argv: ["scripts/check-licences.ts"] },
  { name: "nothing unused", argv: [tool("knip"), "--no-progress"] },
  {
    name: "nothing that only tests use",
    argv: [tool("knip"), "--no-progress", "--production", "--config", "knip.production.json"],
  },
];
const FLOORS: Step = { name: "coverage floors", argv: ["scripts/coverage-floors.ts"], isTold: true };
const TEST_OPTIONS = ["--only-failures"];
/** Where the record is kept, and the variable by which another place takes a new one. */
const RECORD = join(root, "test/machine-parts.json");
const recordTo = process.env.PICOCLAW_TEST_RECORD;
/** Where `.ci/run`, which runs changed files on every machine, takes the record with the hashes and costs of this run. */
const costsTo = process.env.PICOCLAW_TEST_COSTS;
/** Of suites that call the sources in their own process. The others start programs, whose lines are not counted. */
const coverageIn = ({ folder, isMeasured }: Part) =>
  isMeasured ? ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=coverage/${folder}`] : [];
/** By night a test that fails once has failed. By day a few that other tests may have disturbed get a second run, alone. */
const MOST_RUN_AGAIN = process.env.PICOCLAW_TEST_NIGHTLY ? 0 : 8;
interface Suite {
  readonly name: string;
  readonly holds: (file: string) => boolean;
  /** In how many processes it is run: the last of them should not leave a processor idle for long. */
  readonly pieces: number;
  readonly needsImages?: boolean;
  readonly isMeasured?: boolean;
}

const below =
  (folders: RegExp): Suite["holds"] =>
  (file) =>
    folders.test(file);
/** The suites by what they ask of the machine. A file is in the first that holds it. */
const SUITES: readonly Suite[] = [
  {
    name: "containers",
    holds: (file) => needsEngine(readText(file)),
    pieces: 8,
    needsImages: true,
    isMeasured: true,
  },
  { name: "whole programs", holds: below(/^\.\/test\/e2e\//), pieces: 12 },
  { name: "faults", holds: below(/^\.\/test\/(?:faults|hostile|contracts)\//), pieces: 10 },
  {
    name: "doors and docs",
    holds: below(/^\.\/test\/(?:adapters\/(?:web|acp)|application\/serve|docs)\//),
    pieces: 4,
    isMeasured: true,
  },
  { name: "inner layers", holds: () => true, pieces: 12, isMeasured: true },
];
/**
 * A part waits for containers or browsers about half of its time. More at once would make every wait a longer one. A machine beside
 * the full one leaves no processor idle where the full one has ended first.
 */
const AT_ONCE = isBrief ? 2 : Math.max(2, availableParallelism()) + 2;

/** Quiet on success. The runtime itself runs the tools, so that no particular Node is needed. */
async function runStep(step: Step, live: (line: string) => boolean): Promise<Finished> {
  const began = performance.now();
  const child = Bun.spawn([...(step.under ?? []), bun, "--no-env-file", ...step.argv], {
    cwd: root,
    env: {
      ...process.env,
      PICOCLAW_TEST_RUN: runName,
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
    const { exitCode, output } = await runStep(step, () => step.isTold === true);
    if (exitCode === 0) continue;
    failed++;
    if (step.isTold !== true) console.log(output);
  }
  return failed;
}

function count(output: string, what: "pass" | "fail"): number {
  return Number(new RegExp(`^ *(\\d+) ${what}$`, "m").exec(output)?.[1] ?? 0);
}

function allTestFiles(): string[] {
  const folder = join(root, "test");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => `./test/${path}`)
    .sort();
}

/** The suites that this user can run: `test/root` is for root alone. */
function testFiles(): string[] {
  return allTestFiles().filter((file) => process.getuid?.() === 0 || !file.startsWith("./test/root/"));
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

interface Ran extends Counts {
  readonly files: readonly FileRun[];
  /** What to run again where something failed: file by file, or all at once where the runner itself ended. */
  readonly again: readonly (readonly string[])[];
}

interface FileRun {
  readonly file: string;
  /** Of processors, its child processes included. */
  readonly seconds: number;
  readonly failed: number;
}

async function runTests(name: string, argv: readonly string[], under: readonly string[] = []): Promise<Ran> {
  const skipped = new Set<string>();
  const used = new Map<string, number>();
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-report-"));
  const report = join(folder, "tests.xml");
  const reports = ["--reporter=junit", `--reporter-outfile=${report}`];
  const { exitCode, output } = await runStep(
    { name, argv: ["test", ...TEST_OPTIONS, ...reports, ...argv], under },
    (line) => {
      const [, file, seconds] = /^processor seconds: (\S+) ([\d.]+)$/.exec(line) ?? [];
      if (file !== undefined) used.set(file, Number(seconds));
      else if (line.startsWith("skipped: ")) skipped.add(line);
      else return !/^\S+\.test\.tsx?:$|^\s*$/.test(line);
      return false;
    },
  );
  for (const line of skipped) console.log(line);
  const files = existsSync(report) ? readReport(readFileSync(report, "utf8"), used) : [];
  rmSync(folder, { recursive: true, force: true });
  const failed = count(output, "fail");
  const red = new Set(files.filter((one) => one.failed > 0).map(({ file }) => resolve(root, file)));
  // What a file left is found after its last test, and belongs to none.
  for (const [, file = ""] of output.matchAll(/^(\S+\.test\.tsx?) .*?\bleft /gm))
    red.add(resolve(root, file));
  // A runner that died, or an error outside any test, has no failed test to show for it.
  return {
    ...{ passed: count(output, "pass"), failed: exitCode !== 0 && failed === 0 ? 1 : failed, files },
    again: exitCode === 0 ? [] : red.size > 0 ? [...red].map((file) => [file]) : [argv.filter(isTestFile)],
  };
}

const isTestFile = (path: string) => /\.test\.tsx?$/.test(path);

function readReport(xml: string, used: ReadonlyMap<string, number>): FileRun[] {
  return [...xml.matchAll(/^ {2}<testsuite name="([^"]+)".* failures="(\d+)"/gm)].map(
    ([, file = "", failed]) => ({ file, failed: Number(failed), seconds: used.get(file) ?? 0 }),
  );
}

/**
 * Files that failed beside others, once more and with nothing beside them. One that passes now is reported as unsteady: it depends
 * on the speed of the machine or on its neighbours, and has to be fixed. If many fail, none of them is run again.
 */
async function runAgain(ran: readonly Ran[]): Promise<Counts> {
  const isOneFile = ran.length === 1 && ran[0]?.files.length === 1;
  const isRunAgain = !isOneFile && ran.flatMap(({ again }) => again).length <= MOST_RUN_AGAIN;
  const sum = { passed: 0, failed: 0 };
  for (const run of ran) {
    let failed = isRunAgain ? 0 : run.failed;
    for (const files of isRunAgain ? run.again : []) {
      const name = files.map((file) => relative(root, file)).join(" ");
      const again = await runTests(`once more, alone: ${name}`, files);
      failed += again.failed;
      if (again.failed === 0) console.log(`unsteady: ${name} (failed beside other tests, passes alone)`);
    }
    sum.passed += run.passed + Math.max(0, run.failed - failed);
    sum.failed += failed;
  }
  return sum;
}

function areImagesMade(): boolean {
  const engine = process.env.PICOCLAW_TEST_ENGINE;
  return !engine || existsSync(`${engine}.images`);
}

/** Neighbours, which are often alike, are dealt out to the pieces of their suite. */
function partsOf(files: readonly string[]): readonly Part[] {
  const suiteOf = new Map(files.map((file) => [file, SUITES.find((suite) => suite.holds(file))]));
  const suites = SUITES.map((suite) => {
    const { name, needsImages = false, isMeasured = false } = suite;
    // Each process loads the sources for itself, which is most of the work where it runs a few files.
    const pieces = isBrief ? Math.ceil(suite.pieces / 4) : suite.pieces;
    const those = files.filter((file) => suiteOf.get(file) === suite);
    return Array.from({ length: pieces }, (_, piece) => ({
      name: pieces === 1 ? name : `${name}, ${piece + 1} of ${pieces}`,
      folder: `${name.replaceAll(" ", "-")}-${piece + 1}`,
      files: those.filter((_file, index) => index % pieces === piece),
      needsImages,
      isMeasured,
    }));
  });
  // One of each suite in turn: what waits runs beside what computes.
  const longest = Math.max(...suites.map((parts) => parts.length));
  return Array.from({ length: longest }, (_, piece) => suites.flatMap((parts) => parts[piece] ?? []))
    .flat()
    .filter((part) => part.files.length > 0);
}

/** Where the time goes. By processor seconds: the clock also measures what runs beside a file. */
function printDearest(ran: readonly Ran[]): void {
  const files = ran.flatMap((run) => run.files);
  const all = files.reduce((sum, { seconds }) => sum + seconds, 0);
  const dearest = files
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 25)
    .map(({ file, seconds }) => `${file.replace(/^test\//, "")} ${seconds.toFixed(0)} s`);
  if (dearest.length > 0)
    console.log(`processor seconds of the tests: ${all.toFixed(0)}; most: ${dearest.join(", ")}`);
}

function writeCosts(to: string, ran: readonly Ran[]): void {
  const files = ran
    .flatMap((run) => run.files)
    .map(({ file, seconds }) => [file, { hash: hashText(readText(file)), seconds }]);
  const earlier = lastRecord();
  if (earlier !== undefined)
    writeFileSync(resolve(to), writeRecord(mergeRun(earlier, Object.fromEntries(files))));
}

function lastRecord(): PartsRecord | undefined {
  return existsSync(RECORD) ? readRecord(readFileSync(RECORD, "utf8")) : undefined;
}

const nameOf = (file: string) => file.replace("./", "");
const readText = (file: string) => readFileSync(join(root, file), "utf8");

function filesHere(): readonly string[] {
  const files = testFiles();
  if (!isBrief && !isDaily) return files;
  const name = isBrief ? machine : FULL_MACHINE;
  const selection = selectFiles(files.map(nameOf), {
    ...{ machine: name, today, isWhole, record: lastRecord(), readText },
  });
  console.log(`selected for ${name}: ${selection.why}`);
  return selection.files.map((file) => `./${file}`);
}

/** Each file in a process of its own, so that what a process starts is known to be that file's. */
async function record(to: string): Promise<number> {
  const all = testFiles();
  const isBelow = (file: string, path: string) =>
    `${join(root, file)}/`.startsWith(`${resolve(root, path)}/`);
  const earlier = lastRecord();
  const isNew = (file: string) => earlier?.files[nameOf(file)]?.hash !== hashText(readText(file));
  const files = all.filter(paths.length === 0 ? isNew : (file) => paths.some((path) => isBelow(file, path)));
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-trace-"));
  const waiting = [...files];
  const found: Record<string, FileRecord> = {};
  const sum = { passed: 0, failed: 0 };
  const recordInTurn = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const trace = join(folder, file.replaceAll("/", "-"));
      const strace = [
        "timeout",
        "600",
        "strace",
        "-f",
        "-qq",
        "--seccomp-bpf",
        "-o",
        trace,
        "-e",
        `trace=${TRACED}`,
      ];
      const ran = await runTests(file, [file], strace);
      sum.passed += ran.passed;
      sum.failed += ran.failed;
      // A test that failed may not have come to the part that it touches: it stays unknown, and runs everywhere.
      if (ran.failed === 0 && existsSync(trace)) {
        const known = earlier?.files[nameOf(file)] ?? { hash: NOT_RUN, seconds: ran.files[0]?.seconds ?? 0 };
        found[nameOf(file)] = { ...known, touches: readParts(readFileSync(trace, "utf8")) };
      }
      rmSync(trace, { force: true });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, recordInTurn));
  rmSync(folder, { recursive: true, force: true });
  const merged = mergeRecord(earlier, found, { files: allTestFiles().map(nameOf), today });
  writeFileSync(to, writeRecord(merged));
  return end(sum);
}

async function main(): Promise<number> {
  if (recordTo) return record(recordTo === "1" ? RECORD : resolve(recordTo));
  if (paths.length > 0) return await end(await runAgain([await runTests("tests", paths)]));
  const files = filesHere();
  // Floors hold for all files together.
  const isMeasured = !isBrief && files.length === testFiles().length;
  if (isMeasured) {
    rmSync(join(root, "coverage"), { recursive: true, force: true });
    mkdirSync(join(root, "coverage"));
  }
  const ran: Ran[] = [];
  let failedChecks = 0;
  const runPart = async (part: Part) =>
    void ran.push(
      await runTests(`tests: ${part.name}`, [...(isMeasured ? coverageIn(part) : []), ...part.files]),
    );
  const runCheck = async (step: Step) => {
    // Added after the wait: checks run beside each other, and each would add to what it read before.
    const failed = await failures([step]);
    failedChecks += failed;
  };
  const waiting = [
    ...(isBrief ? [] : CHECKS).map((step) => ({ needsImages: false, run: () => runCheck(step) })),
    ...partsOf(files).map((part) => ({ ...part, run: () => runPart(part) })),
  ];
  const takeNext = () => {
    // What needs the images would only wait where CI still makes them.
    const at = waiting.findIndex(({ needsImages }) => !needsImages || areImagesMade());
    return waiting.splice(Math.max(0, at), 1)[0];
  };
  const runInTurn = async () => {
    for (let next = takeNext(); next; next = takeNext()) await next.run();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runInTurn));
  printDearest(ran);
  if (costsTo) writeCosts(costsTo, ran);
  if (isMeasured && files.length > 0) failedChecks += await failures([FLOORS]);
  const { passed, failed } = await runAgain(ran);
  return end({ passed, failed: failed + failedChecks });
}

async function end({ passed, failed }: Counts): Promise<number> {
  const left = await clearRun(runName);
  for (const line of left) console.log(`left behind: ${line}`);
  console.log(`${passed} passed, ${failed + left.length} failed`);
  return failed + left.length === 0 ? 0 : 1;
}

process.exitCode = await main();
