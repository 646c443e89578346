import type { CheckRung, ProjectCheck } from "./find-checks.ts";
import { nameCheck, OWN_PROGRAMS } from "./findings.ts";
import { isTestPath } from "./path-kinds.ts";
import { VARIABLES } from "./runners/package-scripts.ts";
import { CHECK_RUNNERS } from "./runners/registry.ts";

/** Flags whose value is the next word, which is not a test file. */
const TAKES_VALUE =
  /^(?:-r|--require|-c|--config|--import|--loader|--experimental-loader|-t|--timeout|-u|--ui|-R|--reporter|--test-reporter|--file|--extension|--ignore|--exclude|--env|--environment|--project|-p|--dir|--root|--rootDir|--setupFiles|--globals?|-g|--grep|--test-name-pattern|-k|-m|--rootdir|--cov|--cov-config|--cov-report|-o|--override-ini|--deselect|--ignore-glob|--confcutdir|--basetemp|--junit-?xml|-W|-n)$/;
const FILES_APPENDED = /^(?:mocha|jest|vitest|tape|node|pytest)$/;

/** A check that needs less from outside than one that ended with this cause, as its tool offers it; null where it does not. */
export function retryCheck(
  { command, line }: Pick<ProjectCheck, "command" | "line">,
  cause: string,
): CheckRung | null {
  for (const { retry } of CHECK_RUNNERS) {
    const again = retry?.(line, cause) ?? null;
    if (again !== null) return { line: again, command: retry?.(command, cause) ?? command };
  }
  return null;
}

/** The project's own call of its runner with these test files in the place of those that it names; null if that is not possible. */
export function narrowLine(
  line: string,
  files: readonly string[],
  texts: ReadonlyMap<string, string>,
): string | null {
  if (files.length === 0 || files.some((path) => /[\n\r\0]/.test(path))) return null;
  const each = EACH_FILE.exec(line);
  if (each !== null) return `${each[1]}${files.map(quotePath).join(" ")}${each[3]}`;
  for (const { narrow } of CHECK_RUNNERS) {
    const narrowed = narrow?.(line, files, texts) ?? null;
    if (narrowed !== null) return narrowed;
  }
  if (/^go test -v \.\/\.\.\.$/.test(line)) return narrowGo(files, texts);
  const read = readCall(line);
  if (read === null) return null;
  const { own, words, start, program } = read;
  if (!FILES_APPENDED.test(program)) return null;
  // Without its own test runner, node runs the first file alone.
  if (program === "node" && !words.includes("--test")) return null;
  const taken = program === "pytest" ? files.filter((path) => path.endsWith(".py")) : files;
  if (taken.length === 0) return line;
  const kept = words.filter((word, at) => at <= start || !isTested(word, words[at - 1] ?? ""));
  return `${own}${[...kept, ...taken.map(quotePath)].join(" ")}`;
}

/** The same call without what its project's settings do beside the tests: coverage, types, further processes. */
export function cheapenLine(line: string, settings: string): string {
  return CHECK_RUNNERS.reduce((one, { cheapen }) => cheapen?.(one, settings) ?? one, line);
}

/** How a runner leaves out test files. Other runners have no option for it that keeps the project's own exclusions. */
const LEFT_OUT: readonly (readonly [RegExp, string])[] = [
  [/ -m pytest /, "--ignore="],
  [/^(?:[\w./-]*\/)?vitest(?: [^&|;<>()`$\n]*)?$/, "--exclude="],
];

/** The line for all tests except those of `part`, which is the same line with some files; null where it cannot be made. */
export function restOfLine(line: string, part: string, texts: () => ReadonlyMap<string, string>) {
  const [, folders = "", names] = /^go test -v (\S.*) -run '\^\((.+)\)\$'$/.exec(part) ?? [];
  if (names !== undefined && line === "go test -v ./...") {
    // The option leaves out the tests of these names in every package.
    const others = [...texts()].filter(([path]) => !folders.split(" ").includes(folderOfGo(path)));
    const isTwice = (name: string) => others.some(([, text]) => text.includes(`func ${name}(`));
    return names.split("|").some(isTwice) ? null : `${line} -skip '^(${names})$'`;
  }
  const others = restOfFiles(line, part);
  if (others !== null) return others;
  const files = part.startsWith(`${line} `) ? splitWords(part.slice(line.length)) : [];
  const flag = LEFT_OUT.find(([runner]) => runner.test(nameCheck(line)))?.[1];
  if (flag === undefined || files.length === 0 || files.some((file) => !isTestPath(file))) return null;
  return `${line} ${files.map((file) => `${flag}${file}`).join(" ")}`;
}

/** The line without the test files of a part, where that is the same call with fewer of them; null where it is not. */
function restOfFiles(line: string, part: string): string | null {
  const [all, some] = [splitWords(line), splitWords(part)];
  const isFile = (word: string) => !word.startsWith("-") && isTestPath(word.replaceAll("'", ""));
  const left = all.filter((word) => !isFile(word) || !some.includes(word));
  const isSame = all.filter((word) => !isFile(word) || some.includes(word)).join(" ") === some.join(" ");
  return isSame && some.some(isFile) && left.some(isFile) ? left.join(" ") : null;
}

/** Whether a line can be run for some test files alone, in a project with these folders. */
export function takesFiles(line: string, folders: readonly string[] = []): boolean {
  const of = (path: string) => narrowLine(line, [path], new Map([[path, "func TestA("]])) !== null;
  return of("a_test.go") || (folders.includes("src/test") && of("src/test/java/ATest.java"));
}

/** A file that jest, or vitest, reports as soon as all of its tests have ended, after the name of its project. */
export const ENDED_FILE =
  /^(?:(?:PASS|FAIL) (.+?)(?: \([\d.]+ [^()]*\))?$| [✓❯×↓] (?:(.+) \(\d+ tests?\b)?)/gm;
/** More files than these are slow rather than hung. */
const MOST_HUNG = 3;

/** Flags of node whose value is loaded before the file. */
const LOADS = /^(?:-r|--require|--import|--loader|--experimental-loader)$/;

/** The only argument of a process that runs one file; none where it has others, as a shell or a runner with folders does. */
function findOnlyArgument(command: string): string | undefined {
  const words = command.split(" ").slice(1);
  const [one, ...others] = words.filter((word, at) => !/^-/.test(word) && !LOADS.test(words[at - 1] ?? ""));
  return others.length === 0 ? one : undefined;
}

/** The test files, or the Go test, that still ran at the time limit; empty where neither output nor processes show them. */
export function hangingFiles(
  printed: string,
  { running = [], directory }: { readonly running?: readonly string[]; readonly directory?: string },
  files: readonly string[],
) {
  const open = printed.split("\n").at(-1)?.trimEnd() ?? "";
  const last = printed.trimEnd().split("\n").at(-1) ?? "";
  const begun = /^(\S+\.py)::\S+(?: \S*)?$/.exec(open)?.[1] ?? /^=== RUN +(Test\w+)/.exec(last)?.[1];
  if (begun !== undefined) return [begun];
  // A relative path may be of a package that a script changed to.
  const only = new Set(running.map(findOnlyArgument));
  const alone = new Set(files.filter((file) => only.has(`${directory}/${file}`)));
  const ended = [...printed.matchAll(ENDED_FILE)].map(([, jest, vitest]) => ` ${jest ?? vitest ?? ""}`);
  const isRead = ended.length > 0 && ended.every((line) => files.some((file) => line.endsWith(` ${file}`)));
  const isOpen = (file: string) =>
    alone.size > 0 ? alone.has(file) : isRead && !ended.some((line) => line.endsWith(` ${file}`));
  const left = files.filter(isOpen);
  return left.length <= MOST_HUNG ? left : [];
}

/** The line without these test files; null where no test is left, the line itself where its runner cannot leave files out. */
export function withoutFiles(line: string, files: readonly string[]): string | null {
  if (/^go test -v /.test(line)) {
    const tests = files.filter((name) => /^Test\w+$/.test(name));
    return tests.length === 0 ? line : `${line} -skip '^(${tests.join("|")})$'`;
  }
  if (EACH_FILE.test(line)) return line;
  const words = splitWords(line);
  const named = words.filter((word) => /^[^-*?{][^*?{]*\.\w+$/.test(word) && isTestPath(word));
  const left = words.filter((word) => !named.includes(word) || !files.includes(word));
  // One of several calls that loses its only file would run all tests.
  const isKept = left.length === words.length || /[&;]/.test(nameCheck(line));
  if (named.length > 0 && isKept) return line;
  if (named.length > 0) return left.some((word) => named.includes(word)) ? left.join(" ") : null;
  const paths = files.filter((file) => isTestPath(file));
  const call = nameCheck(line);
  const flag = LEFT_OUT.find(([runner]) => runner.test(call))?.[1];
  if (flag !== undefined) return [line, ...paths.map((file) => `${flag}${quotePath(file)}`)].join(" ");
  // One pattern, where the line has none: several are alternatives, and the option for exclusions replaces the project's own.
  const names = paths.map((file) => file.replace(/[^\w/-]/g, "\\$&")).join("|");
  return JEST.test(call) && names !== "" ? `${line} -- ${quotePath(`^(?!(?:.*/)?(?:${names})$)`)}` : line;
}

const JEST =
  /^(?:[\w./-]*\/)?jest(?: (?:-c|--config|-w|--maxWorkers|--testPathIgnorePatterns) [^\s&|;<>()`$-][^\s&|;<>()`$]*| -(?!-(?: |$|testPathPattern|runTestsByPath|findRelatedTests))[^\s&|;<>()`$]+)*$/;

/**
 * One call of a program; null where the line has other shell syntax. `own`: puts the project's programs first, or calls the Python that
 * loads pytest. `words`: as the shell parts them, with their quotes. `start`: the place of the program, after its variables.
 */
function readCall(line: string) {
  const own = (/^.* -m (?=pytest )/s.exec(line) ?? OWN_PROGRAMS.exec(line))?.[0] ?? "";
  const call = line.slice(own.length);
  if (/[&|;<>()`$\n]/.test(call)) return null;
  const words = splitWords(call);
  const start = splitWords(VARIABLES.exec(call)?.[0] ?? "").length;
  return { own, words, start, program: words[start] ?? "" };
}

function splitWords(call: string): string[] {
  return call.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
}

/** Whether a word of a call says what is to be tested. */
function isTested(word: string, before: string): boolean {
  if (word.startsWith("-") || TAKES_VALUE.test(before)) return false;
  const bare = word.replace(/["']/g, "").replace(/^\.\//, "");
  return /[*?{]/.test(bare) || /^(?:tests?|specs?|__tests__)\/?$/.test(bare) || isTestPath(bare);
}

/** The line with the cases of these data files alone in test files that read some, where its runner selects cases by words. */
export function selectData(
  line: string,
  files: readonly string[],
  readers: ReadonlyMap<string, readonly string[]>,
): string {
  const nameOf = (path: string) => path.replace(/^.*\//, "");
  const reading = files.filter((path) => readers.has(path)).map(nameOf);
  const wordsOf = (path: string) =>
    readers.get(path)?.map((data) => nameOf(data).replace(/\.\w+$/, "")) ?? [nameOf(path)];
  const words = [...new Set(files.flatMap(wordsOf))];
  // A word selects by every part of a test's name: one that is part of a reader's name would select all of its cases.
  const isPlain = words.every(
    (word) => /^[\w.-]+$/.test(word) && !reading.some((name) => name.includes(word)),
  );
  const takesWords = / -m pytest /.test(line) && !/ -k /.test(line);
  return reading.length > 0 && isPlain && takesWords ? `${line} -k '${words.join(" or ")}'` : line;
}

/** A path as one word of a shell line that cannot be mistaken for an option. */
export function quotePath(path: string): string {
  const safe = path.startsWith("-") ? `./${path}` : path;
  return /^[\w./@+-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`;
}

const folderOfGo = (path: string) => `./${path.slice(0, Math.max(0, path.lastIndexOf("/")))}`;

/** Go compiles whole packages; a pattern of names selects their tests. */
function narrowGo(files: readonly string[], texts: ReadonlyMap<string, string>): string | null {
  const names = files.flatMap((path) =>
    [...(texts.get(path) ?? "").matchAll(/^func ((?:Test|Example|Fuzz)\w*)\s*\(/gm)].map(
      ([, name = ""]) => name,
    ),
  );
  if (names.length === 0) return null;
  const folders = new Set(files.map(folderOfGo));
  return `go test -v ${[...folders].map(quotePath).join(" ")} -run '^(${[...new Set(names)].join("|")})$'`;
}

/** Lines before and after the output of each file, by which a reader separates them. */
export const FILE_RUN = { opens: "##picoclaw-file ", closes: "##picoclaw-exit " } as const;
const EACH_FILE = /^(.*; for f in )(.*?)(; do n=1; .*)$/s;

/** Runners that load all files into one process: one file that cannot be loaded ends the run of all. */
const IN_ONE_PROCESS = /^(?:tape|mocha|jasmine|pytest)$/;
const MOCHA_FILES = "test/**/*.{js,cjs,mjs}";
const PYTEST_FILES = "{test_*,*_test}.py {test,tests,src}/**/{test_*,*_test}.py";

/** The check with one more rung at the end of its ladder: each test file in a process of its own. */
export function withEachFile(check: ProjectCheck): ProjectCheck {
  const last = check.kind === "test" ? runEachFile(check.runner ?? check.line) : null;
  return last === null ? check : { ...check, instead: [...(check.instead ?? []), last] };
}

function runEachFile(line: string): Pick<ProjectCheck, "command" | "line"> | null {
  if (/ -m pytest /.test(line))
    return eachFileLine(
      "",
      line,
      PYTEST_FILES,
      'for f in tests/**/test_*.py; do python -m pytest "$f"; done',
    );
  const read = readCall(line);
  if (read === null) return null;
  const { own, words, start, program } = read;
  if (!IN_ONE_PROCESS.test(program)) return null;
  const isFile = (word: string, at: number) => at > start && isTested(word, words[at - 1] ?? "");
  const kept = words.filter((word, at) => !isFile(word, at)).join(" ");
  const named = words.filter(isFile).map((word) => asPattern(word.replace(/["']/g, "")));
  const patterns = named.length > 0 ? named.join(" ") : program === "mocha" ? MOCHA_FILES : null;
  if (patterns === null || /[\s;&|<>()`$\\]/.test(patterns.replaceAll(" ", ""))) return null;
  return eachFileLine(own, kept, patterns, `for f in ${patterns}; do ${kept} "$f"; done`);
}

/** A folder matches the files below it. */
function asPattern(word: string): string {
  return /\.\w+$|[*?{]/.test(word) ? word : `${word.replace(/\/$/, "")}/**/*.{js,cjs,mjs,ts}`;
}

function eachFileLine(own: string, call: string, patterns: string, command: string) {
  const { opens, closes } = FILE_RUN;
  const each = `echo; echo "${opens}$f"; ${call} "$f"; s=$?; echo; echo "${closes}$s"; [ $s = 0 ] || r=1`;
  const line = `${own}shopt -s globstar nullglob; n=0; r=0; for f in ${patterns}; do n=1; ${each}; done; [ $n = 1 ] || exit 126; exit $r`;
  return { command, line };
}
