import { importsOf } from "../platform/code-imports.ts";
import { sharesName } from "./affected-tests.ts";
import { namesPath } from "./failures.ts";
import type { ProjectCheck } from "./find-checks.ts";
import { isCodePath, isDocumentation, isTestPath } from "./path-kinds.ts";
import { bareTestName, holds, type TestFailure, type TestOutcome } from "./test-results.ts";
import type { CheckResult } from "./verdict.ts";

/** How a red test is connected with a change: the first three tie the two, the others only link them. */
export type Connection = "outcome" | "message" | "stack" | "imports" | "name" | "test-file" | "package";

/** Whether a connection shows that the change is part of the failure: the coder cannot declare such a test as not its own. */
export function isTied(connection: Connection): connection is "outcome" | "message" | "stack" {
  return connection === "outcome" || connection === "message" || connection === "stack";
}

export interface ConnectedInput {
  /** The check over the old code, and over the draft. */
  readonly before: CheckResult;
  readonly now: CheckResult;
  /** Paths that the draft changes. */
  readonly changed: readonly string[];
  readonly texts: ReadonlyMap<string, string>;
}

/** The connection of a change with one red test; null where none is found. Documentation and data have none. */
export function findConnection(test: string, input: ConnectedInput): Connection | null {
  const code = input.changed.filter((path) => isCodePath(path) && !isDocumentation(path));
  const outcome = (result: CheckResult): TestOutcome | undefined => result.results?.tests.get(test);
  if (outcome(input.before) !== outcome(input.now)) return "outcome";
  const before = failureOf(input.before, test);
  const now = failureOf(input.now, test);
  if (before !== undefined && now !== undefined && before.message !== now.message) return "message";
  const file = findTestFile(test, now ?? before, input.texts);
  const others = code.filter((path) => path !== file);
  const places = [...(now?.places ?? []), ...(before?.places ?? [])];
  if (others.some((path) => namesPath(places, path))) return "stack";
  return file === null ? null : findLink(file, code, input.texts);
}

/** Of tests that passed before the change, failed once with it and passed alone: those that are connected with it. */
export function findUnstable(
  flaky: readonly string[],
  about: Omit<ConnectedInput, "before" | "now"> & Record<"before" | "results", readonly CheckResult[]>,
): string[] {
  return flaky.filter((test) =>
    about.results.some((now) => {
      const before = about.before.find(({ command }) => command === now.command);
      const isKnown = holds(before?.results?.tests.get(test)) && holds(now.results?.tests.get(test));
      return isKnown && findConnection(test, { ...about, before, now }) !== null;
    }),
  );
}

/** The connection of a change with a red check that names no tests. */
export function findCheckConnection(
  { line, script = "" }: Pick<ProjectCheck, "line" | "script">,
  input: ConnectedInput,
): Connection | null {
  const code = input.changed.filter((path) => isCodePath(path) && !isDocumentation(path));
  const [before, now] = [input.before.failure, input.now.failure];
  if (before !== undefined && now !== undefined && before.message !== now.message) return "message";
  if (code.some((path) => namesPath(now?.places ?? [], path))) return "stack";
  const words = `${line} ${script}`.split(/[\s"'`();&|<>=]+/).map((word) => word.replace(/^\.\//, ""));
  const links = words.flatMap((word) => (input.texts.has(word) ? [findLink(word, code, input.texts)] : []));
  return links.find((link) => link !== null) ?? null;
}

function failureOf({ results }: CheckResult, test: string): TestFailure | undefined {
  return results?.failures?.find((one) => one.test === test);
}

/** The folder of a Go package, or of a Rust crate; null for languages without. */
function packageOf(path: string): string | null {
  if (path.endsWith(".go")) return `go ${path.slice(0, Math.max(0, path.lastIndexOf("/")))}`;
  if (path.endsWith(".rs")) return `rust ${path.replace(/(?:^|\/)(?:src|tests|benches|examples)\/.*$/, "")}`;
  return null;
}

/** Follows direct imports only: through a barrel file nearly every test reaches nearly every file. */
export function findLink(
  file: string,
  code: readonly string[],
  texts: ReadonlyMap<string, string>,
): Connection | null {
  if (code.includes(file)) return "test-file";
  const own = packageOf(file);
  if (own !== null) return code.some((path) => packageOf(path) === own) ? "package" : null;
  if (code.some((path) => !isTestPath(path) && sharesName(path, file))) return "name";
  const paths = [...new Set([...texts.keys(), ...code])];
  const imported = new Set(importsOf(paths, file, texts.get(file) ?? ""));
  return code.some((path) => imported.has(path)) ? "imports" : null;
}

/** The file of a test, by its name, by its stack, or as the only test file that contains the title; else null. */
export function findTestFile(
  test: string,
  failure: Pick<TestFailure, "places"> | undefined,
  texts: ReadonlyMap<string, string>,
): string | null {
  const [first = ""] = test.split(/::| > | › /);
  const holding = filesHolding(test, texts);
  const named = holding.filter(
    (path) => namesPath(failure?.places ?? [], path) || isOfGoPackage(path, first),
  );
  const [file, ...more] = named.length > 0 ? named : holding;
  return file === undefined || more.length > 0 ? null : file;
}

/** The words of a file that begin a test: in Go, those of the function around a subtest; elsewhere without the case of a table. */
export function titleOf(test: string): string {
  const ofGo = /^\S+ › ((?:Test|Example|Fuzz)\w*)(?:\/.+)?$/.exec(test)?.[1];
  return ofGo ?? bareTestName(test).replace(/ #\d+$|\[.*\]$/, "");
}

/** The file that a test's name begins with, the file of its Java class, or every test file that contains its title. */
export function filesHolding(
  test: string,
  texts: ReadonlyMap<string, string>,
  mayHold = (path: string) => isTestPath(path) || path.endsWith(".rs"),
): string[] {
  const [first = ""] = test.split(/::| > | › /);
  if (texts.has(first)) return [first];
  const ofClass = `/${first.replace(/\$.*/, "").replaceAll(".", "/")}.`;
  const tests = [...texts].filter(([path]) => mayHold(path));
  const classes = tests.filter(([path]) => /\.(?:java|kt|groovy)$/.test(path) && path.includes(ofClass));
  const holding = classes.length > 0 ? classes : tests.filter(([, text]) => text.includes(titleOf(test)));
  return holding.map(([path]) => path);
}

/** `example.com/mod/sub` is the package of `sub/a_test.go`. */
function isOfGoPackage(path: string, name: string): boolean {
  if (!path.endsWith("_test.go")) return false;
  const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  return folder !== "" && (name === folder || name.endsWith(`/${folder}`));
}
