import { readCheckFailure } from "../../domain/checks/failures.ts";
import {
  type CheckRung,
  findChecks,
  findInstall,
  neededProgram,
  type ProjectCheck,
  type ProjectFiles,
  READ_FOR_CHECKS,
} from "../../domain/checks/find-checks.ts";
import type { WhyNotChecked } from "../../domain/checks/findings.ts";
import { narrowLine, retryCheck, takesFiles, withEachFile } from "../../domain/checks/narrow-check.ts";
import { findOutsideCause } from "../../domain/checks/outside-cause.ts";
import { createPace } from "../../domain/checks/pace.ts";
import { readResults } from "../../domain/checks/read-results.ts";
import { totalTests } from "../../domain/checks/test-results.ts";
import {
  absentProgram,
  type CheckResult,
  checkRunState,
  judgesBaseline,
} from "../../domain/checks/verdict.ts";
import type { Baseline, CheckMemory, CheckRecord } from "../ports/checks.ts";
import type { Checked, CheckRequest, CheckRun, Draft } from "../ports/jobs-draft.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";

export function checkResults(checks: readonly ProjectCheck[], runs: readonly CheckRun[]): CheckResult[] {
  return checks.flatMap((check, at) => {
    const run = runs[at];
    return run === undefined ? [] : [checkResult(check, run)];
  });
}

type RanCheck = Pick<CheckRun, "outcome" | "exitCode" | "whole"> & Partial<Pick<CheckRun, "directory">>;

/** The result of one run, wherever it ran: paths of its folder are relative. */
export function checkResult({ kind, command, line }: ProjectCheck, ran: RanCheck): CheckResult {
  const { directory } = ran;
  const run = directory === undefined ? ran : { ...ran, whole: ran.whole.replaceAll(`${directory}/`, "") };
  const absent = absentProgram(run.exitCode, run.whole);
  const results = kind === "test" ? readResults(run.whole) : null;
  // A runner that found no test is green for any code.
  const isEmpty = results !== null && totalTests(results.counts) === 0;
  const state = isEmpty ? "cannot-run" : ranCheckState(run, line);
  const isUnread = kind === "test" && state === "red" && results === null;
  const outside = isUnread ? findOutsideCause(run.whole) : null;
  return {
    kind,
    command,
    state,
    results,
    ...(isUnread && { failure: { ...readCheckFailure(run.whole), ...(outside !== null && { outside }) } }),
    ...(absent !== null && { absent }),
  };
}

function ranCheckState({ outcome, exitCode, whole }: RanCheck, line: string): CheckResult["state"] {
  if (outcome === "timed-out") return "timed-out";
  return outcome === "not-started" ? "cannot-run" : checkRunState(exitCode, whole, line);
}

/** The checks that judge here: each one that cannot is replaced by the lower rung that did. */
export function checksThatJudge(
  checks: readonly ProjectCheck[],
  results: readonly CheckResult[],
): readonly ProjectCheck[] {
  return checks.map((check, at) => {
    const result = results[at];
    if (result?.rung === undefined) return check;
    const home = result.rung.why === "home" ? { home: "whole" as const } : {};
    return { kind: check.kind, command: result.command, line: result.rung.line, ...home };
  });
}

/** The slice `checks:` of the configuration. Times are in seconds. */
export interface CheckSettings {
  readonly command: string | null;
  readonly timeout: number;
  readonly auto_limit: number;
  readonly network: boolean;
  readonly enabled: "auto" | "always" | "never";
  /** Default: no. */
  readonly format?: boolean;
}

/** The stored record of exactly these checks. */
export function recallChecks(memory: CheckMemory, checks: readonly ProjectCheck[]): CheckRecord | null {
  const record = memory.recall();
  const isSame =
    record?.lines.length === checks.length && checks.every(({ line }, at) => line === record.lines[at]);
  return isSame ? record : null;
}

export interface BaselineDeps {
  readonly checks: readonly ProjectCheck[];
  readonly settings: CheckSettings;
  readonly memory: CheckMemory;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** How many test files the project has; absent: unknown. */
  readonly countTestFiles?: () => number;
  /** Whether a draft waits for this run. */
  readonly isAwaited?: () => boolean;
}

/** The checks over the current workspace: recalled if nothing changed since, awaited if they are running, else run. */
export async function measureBaseline(
  deps: BaselineDeps,
  draft: Pick<Draft, "check" | "homes">,
): Promise<Baseline> {
  const { checks, memory, signal } = deps;
  const fingerprint = memory.fingerprint();
  const key = [fingerprint, ...checks.map(({ line }) => line)].join("\0");
  const stopped = new Promise<Baseline>((resolve) => {
    if (signal.aborted) resolve(ABORTED);
    signal.addEventListener("abort", () => resolve(ABORTED), { once: true });
  });
  for (let other = memory.running.get(key); other !== undefined; other = memory.running.get(key)) {
    // The other run is aborted when its draft ends; then this draft measures itself.
    const measured = await Promise.race([other.catch(() => ABORTED), stopped]);
    if (measured.ok || measured.why !== "aborted") return measured;
    if (signal.aborted) return ABORTED;
    if (memory.running.get(key) === other) memory.running.delete(key);
  }
  const own = runChecksOnce(deps, draft, fingerprint);
  memory.running.set(key, own);
  try {
    return await own;
  } finally {
    if (memory.running.get(key) === own) memory.running.delete(key);
  }
}

const ABORTED: Baseline = { ok: false, why: "aborted" };

/** While the duration of the checks is unknown, they are ended at `checks.auto_limit`. */
async function runChecksOnce(
  deps: BaselineDeps,
  draft: Pick<Draft, "check" | "homes">,
  fingerprint: string,
): Promise<Baseline> {
  const { checks, memory, now } = deps;
  const lines = checks.map(({ line }) => line);
  const known = recallChecks(memory, checks);
  // If no check could judge, they run again: installing a program changes no file of the project.
  if (known?.results?.some(judgesBaseline) && known.fingerprint === fingerprint)
    return { ok: true, fingerprint, results: known.results };
  // The affected tests then judge alone.
  if (deps.settings.enabled === "auto" && isSlow(checks, deps)) return { ok: false, why: "slow" };
  const limit = limitSeconds(deps.settings, known);
  const isKnown = deps.settings.enabled === "always" || known?.wasEnded === false;
  const pace = isKnown ? null : watchPace(deps, limit);
  const watched = pace === null ? {} : { onOutput: pace.add, enough: pace.enough };
  const first = await runBaseline(deps, draft, { commands: lines, timeoutSeconds: limit, ...watched });
  if (!first.ok) return first;
  const estimate = pace?.estimate() ?? null;
  const down = await climbDown(deps, draft, { results: checkResults(checks, first.runs), limit });
  if (down === null) return ABORTED;
  const climbed = down.map(({ result }) => result);
  // The next run takes as long as the rungs that judge took.
  const durationMs = down.reduce((sum, one, at) => sum + (one.ms ?? first.runs[at]?.durationMs ?? 0), 0);
  const isShort = limit < deps.settings.timeout || estimate !== null;
  const wasEnded = climbed.some(({ state }) => state === "timed-out") && isShort;
  const { noticed = [], hung = [] } = known ?? {};
  const about = { lines, fingerprint, at: now(), durationMs, wasEnded, noticed, hung };
  if (wasEnded) {
    const expected = estimate === null ? {} : { durationMs: estimate, isEstimate: true as const };
    memory.keep({ ...about, ...expected, results: null });
    return { ok: false, why: "slow" };
  }
  memory.keep({ ...about, results: climbed });
  // The run memory may have ended them before the limit: the affected tests then judge alone, too.
  const isSlower = !climbed.some(judgesBaseline) && climbed.some(({ state }) => state === "timed-out");
  return isSlower ? { ok: false, why: "unended" } : { ok: true, fingerprint, results: climbed };
}

/** Ends a suite whose own count and pace say that it cannot end in time. */
function watchPace({ now, countTestFiles = () => 0, isAwaited }: BaselineDeps, limitSeconds: number) {
  const pace = createPace(limitSeconds * 1000, countTestFiles);
  const ending = new AbortController();
  const from = now();
  let whole: number | null = null;
  return {
    enough: ending.signal,
    estimate: () => whole,
    add(text: string): void {
      const ms = now() - from;
      pace.add(text, ms);
      whole ??= pace.findHopeless(ms, isAwaited?.());
      if (whole !== null) ending.abort();
    },
  };
}

export function limitSeconds({ timeout, auto_limit, enabled }: CheckSettings, known: CheckRecord | null) {
  const isKnown = enabled === "always" || known?.wasEnded === false;
  return isKnown ? timeout : Math.min(timeout, Math.max(auto_limit, 1));
}

async function runBaseline(
  { settings: { network }, signal }: BaselineDeps,
  draft: Pick<Draft, "check">,
  request: Pick<CheckRequest, "commands" | "timeoutSeconds"> & Partial<CheckRequest>,
): Promise<Checked> {
  return draft.check({ over: "baseline", attempt: 0, network, signal, home: "bare", ...request });
}

/** The first rung hides the private home, so that no earlier job influences the result; the next one shows it, if it is needed. */
function rungsBelow(
  check: ProjectCheck,
  { failure }: CheckResult,
  draft: Pick<Draft, "homes">,
): readonly (CheckRung & Pick<ProjectCheck, "home">)[] {
  const { command, line, script, instead = [] } = check;
  // A test that reads the arguments of its process may fail by options that only a reader of names needs.
  const named = line.split(" ").filter((word) => /^--\w/.test(word) && script?.includes(word) === false);
  const isOurs = named.some((option) => failure?.tail.includes(option));
  const hasTraces = draft.homes?.()?.earlier === true;
  const again = failure?.outside === undefined ? null : retryCheck(check, failure.outside.cause);
  return [
    ...(hasTraces ? [{ command, line, home: "whole", isShorter: true } as const] : []),
    ...(isOurs ? [{ command, line: command }] : []),
    ...(again === null ? [] : [again]),
    ...instead,
  ];
}

interface ClimbedCheck {
  readonly result: CheckResult;
  /** How long the lower rung took, where one judges. */
  readonly ms?: number;
}

/** Replaces each check that cannot judge here by the first command below it on the ladder that can. */
async function climbDown(
  deps: BaselineDeps,
  draft: Pick<Draft, "check" | "homes">,
  { results, limit }: { readonly results: readonly CheckResult[]; readonly limit: number },
): Promise<readonly ClimbedCheck[] | null> {
  const climbed: ClimbedCheck[] = [];
  for (const [at, result] of results.entries()) {
    const check = deps.checks[at];
    let taken: ClimbedCheck = { result };
    const rungs = judgesBaseline(result) || check === undefined ? [] : rungsBelow(check, result, draft);
    for (const { home, ...rung } of rungs) {
      if (result.state === "timed-out" && rung.isShorter !== true) continue;
      const tried = await runBaseline(deps, draft, {
        commands: [rung.line],
        timeoutSeconds: limit,
        ...(home !== undefined && { home }),
      });
      if (!tried.ok) return null;
      const [lower] = checkResults([{ ...rung, kind: result.kind }], tried.runs);
      // If the lower rung is slow, the affected tests can still judge; with a check that cannot run, nothing can.
      const isSlow = lower?.state === "timed-out" && result.state === "cannot-run";
      if (lower === undefined || !(isSlow || judgesBaseline(lower))) continue;
      const cause = result.failure?.outside?.cause;
      const isOutside = cause !== undefined;
      // Only a command that shows a test replaces one that cannot run for an outside cause.
      if (isOutside && lower.results === null) continue;
      const ended = result.state === "timed-out" || result.state === "cannot-run" ? result.state : "unread";
      const isSame = rung.command === result.command && rung.line === rung.command;
      const other = isSame ? "options" : isOutside ? "cannot-run" : ended;
      const why = home !== undefined ? "home" : other;
      const ms = tried.runs[0]?.durationMs ?? 0;
      taken = {
        result: {
          ...lower,
          rung: { line: rung.line, insteadOf: result.command, why, ...(isOutside && { cause }) },
        },
        ms,
      };
      if (!isSlow) break;
    }
    climbed.push(taken);
  }
  return climbed;
}

export interface OpenChecksDeps {
  readonly files: Pick<WorkspaceFiles, "look" | "list" | "read">;
  readonly settings: CheckSettings;
  readonly memory: CheckMemory;
  readonly now: () => number;
  /** Whether a program is on the PATH; absent: every program is assumed to exist. */
  readonly hasProgram?: (name: string) => boolean;
}

export type FoundChecks =
  | {
      readonly ok: true;
      readonly checks: readonly ProjectCheck[];
      /** Commands of further checks, and parts of commands, that cannot run here. */
      readonly missing: readonly string[];
      readonly install: string | null;
    }
  | {
      readonly ok: false;
      readonly why: WhyNotChecked;
      readonly commands: readonly string[];
      /** Programs that are not there. */
      readonly absent: readonly string[];
      /** The command that would help; null if none is known. */
      readonly install: string | null;
    };

/** Slow checks, and tests that hung, are tried again after a day: the machine may have been busy. */
export const SLOW_FOR_MS = 24 * 60 * 60 * 1000;
/** Manifests are small; larger files are ignored. */
const READ_BYTES = 1024 * 1024;

/** Which checks are going to judge changes of a workspace, or why none. Reads a few small files; runs nothing. */
export function openChecks({ files, settings, memory, now, hasProgram }: OpenChecksDeps): FoundChecks {
  const project = { ...readProject(files), ...(hasProgram !== undefined && { isOnPath: hasProgram }) };
  const install = findInstall(project);
  const none = (why: WhyNotChecked, commands: readonly string[] = [], absent: readonly string[] = []) =>
    ({ ok: false, why, commands, absent, install }) as const;
  if (settings.enabled === "never") return none("never");
  const found = findChecks(project, settings.command);
  const commands = found.map(({ command }) => command);
  if (found.length === 0) return none("no-checks");
  const installed = found.filter(({ missing }) => missing === undefined).map(withEachFile);
  if (!installed.some(({ kind }) => kind === "test") && installed.length < found.length)
    return none("dependencies-missing", commands);
  const absentOf = (check: ProjectCheck) => findAbsent(check, hasProgram ?? (() => true));
  const checks = installed.filter((check) => absentOf(check) === null);
  if (checks.length === 0) {
    const absent = installed.flatMap((check) => absentOf(check) ?? []);
    return none("cannot-run", commands, [...new Set(absent)]);
  }
  if (
    settings.enabled === "auto" &&
    isSlow(checks, { settings, memory, now }) &&
    !checks.some((check) => check.kind === "test" && takesFiles(check.runner ?? check.line, project.below))
  )
    return none("slow", commands);
  const isRun = ({ command }: ProjectCheck) => checks.some((check) => check.command === command);
  const missing = found.flatMap((check) => (isRun(check) ? (check.leftOut ?? []) : [check.command]));
  return { ok: true, checks, missing, install };
}

/** The program that a check and every rung below it need, and that is not there; null where one of them may run. */
function findAbsent(check: ProjectCheck, hasProgram: (name: string) => boolean): string | null {
  const needed = [check, ...(check.instead ?? [])].map(({ line }) => neededProgram(line));
  return needed.every((program) => program !== null && !hasProgram(program)) ? (needed[0] ?? null) : null;
}

function isSlow(
  checks: readonly ProjectCheck[],
  { settings, memory, now }: Pick<OpenChecksDeps, "settings" | "memory" | "now">,
): boolean {
  const record = recallChecks(memory, checks);
  if (record === null) return false;
  if (record.wasEnded && now() - record.at > SLOW_FOR_MS) return false;
  const limitMs = settings.auto_limit * 1000;
  // The duration of ended checks is their limit at the time: with a larger limit they are tried again.
  return record.wasEnded ? record.durationMs >= limitMs : record.durationMs > limitMs;
}

/** Null where there is no such file, or it is larger. */
export function readSmallFile(files: OpenChecksDeps["files"], path: string, most: number): string | null {
  const entry = files.look(path);
  return entry.kind === "file" && entry.size <= most ? new TextDecoder().decode(files.read(path)) : null;
}

export function readProject(files: OpenChecksDeps["files"]): ProjectFiles {
  const names = files.list("");
  const texts: Record<string, string> = {};
  for (const name of READ_FOR_CHECKS) {
    const text = names.includes(name) ? readSmallFile(files, name, READ_BYTES) : null;
    if (text !== null) texts[name] = text;
  }
  const programs =
    files.look("node_modules").kind === "symlink"
      ? "linked"
      : files.look("node_modules/.bin").kind === "directory"
        ? files.list("node_modules/.bin")
        : null;
  const below = listBelow(files);
  const loadsBuilt = loadsBuiltFiles(files, [...names, ...below], texts["package.json"] ?? "");
  return { names, texts, below, loadsBuilt, ...(programs === null ? {} : { programs }) };
}

const BUILDS = /"(?:build|compile|prepare)"\s*:/;
const SCRIPT_FILE = /^(?:[^/]+|tests?\/.+)\.[cm]?[jt]sx?$/;
/** `from "../dist/a.js"`, `require("./build")`: a folder that a build makes. */
const IMPORTS_BUILT =
  /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\(\s*)["'](?:\.{1,2}\/)+(?:build|dist|out)(?:\/|["'])/;
const MOST_LOOKED_AT = 100;

/** Whether tests, or modules of the root that they may load, import files that a script of the package builds. */
function loadsBuiltFiles(
  files: OpenChecksDeps["files"],
  paths: readonly string[],
  manifest: string,
): boolean {
  if (!BUILDS.test(manifest)) return false;
  return paths
    .filter((path) => SCRIPT_FILE.test(path))
    .slice(0, MOST_LOOKED_AT)
    .some((path) => IMPORTS_BUILT.test(readSmallFile(files, path, READ_BYTES) ?? ""));
}

const LISTED_FOLDERS = ["tests", "test", "src", ".venv/bin", "venv/bin"];
/** A test folder is recognised by its first entries; nested folders are opened up to this number. */
const MOST_LISTED = 500;
const MOST_OPENED = 20;

/** The entries of the folders of tests, sources and Python's programs, and of folders of tests one level further down. */
function listBelow(files: OpenChecksDeps["files"]): readonly string[] {
  const list = (folder: string) =>
    files.look(folder).kind === "directory"
      ? files
          .list(folder)
          .slice(0, MOST_LISTED)
          .map((name) => `${folder}/${name}`)
      : [];
  const below = LISTED_FOLDERS.flatMap(list);
  const deeper = below.filter((path) => /^tests?\/[^.]+$/.test(path));
  return [...below, ...deeper.slice(0, MOST_OPENED).flatMap(list)];
}

/** Tests may never end without the change: over the old or broken code they get several times their usual time. */
export function proofSeconds(usualMs: number, most: number): number {
  return Math.min(most, 20 + Math.ceil((4 * usualMs) / 1000));
}

/** The commands that may run these test files, in the fallback order of the project's checks; empty if none is known. */
export function findLinesOf(
  deps: Omit<OpenChecksDeps, "now">,
  tests: ReadonlyMap<string, string>,
): readonly string[] {
  const settings = { ...deps.settings, enabled: "always" as const };
  const opened = openChecks({ ...deps, settings, now: () => 0 });
  const test = opened.ok ? opened.checks.find(({ kind }) => kind === "test") : undefined;
  if (test === undefined) return [];
  const lines = [test.runner ?? test.line, ...(test.instead ?? []).map(({ line }) => line)];
  const narrowed = lines.flatMap((line) => narrowLine(line, [...tests.keys()], tests) ?? []);
  const judges = narrowed.length > 0 ? narrowed : lineByImports(tests);
  return [...new Set(judges.length > 0 ? judges : lines)];
}

/** Runners by what a test file imports. */
const BY_IMPORT = {
  "bun:test": "bun test",
  "node:test": "node --test",
  vitest: "vitest run",
  "@jest/globals": "jest",
} as const;

/** A project may start its tests by a script of its own, which would run all of them; the files say which runner they are for. */
function lineByImports(tests: ReadonlyMap<string, string>): string[] {
  return Object.entries(BY_IMPORT).flatMap(([name, runner]) => {
    const files = [...tests].flatMap(([path, text]) =>
      text.includes(`from "${name}"`) ? [`./${path}`] : [],
    );
    const named = narrowLine("node --test", files, tests)?.slice("node --test".length);
    return named === undefined ? [] : [`export PATH="$PWD/node_modules/.bin:$PATH"; ${runner}${named}`];
  });
}
