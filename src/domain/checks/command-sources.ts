/**
 * The sources of commands that may judge a project where its declared check cannot: other scripts, runners that are configured, CI
 * files, task runners, documents, the request, and what the coder ran. In: their texts as they were before the change. Out: calls
 * whose parsed program tests, checks types, lints or builds. No other program comes out, and no word that only a running shell knows.
 */
import { baseName, type ParseShell, type ShellCommand } from "../policy/shell-script.ts";
import names from "./names.json" with { type: "json" };
import type { ProjectCheck, ProjectFiles } from "./runners/check-runner.ts";
import { nameTests, scriptsOf, withOwnPrograms } from "./runners/package-scripts.ts";
import { pythonLine } from "./runners/python.ts";

/** In the order in which they are asked. `package`: of a package that the change touches. `coder`: proposed beside a patch. `ran`: by the coder, in this job. */
const SOURCES = ["package", "script", "runner", "ci", "tasks", "docs", "request", "coder", "ran"] as const;
export type SourceName = (typeof SOURCES)[number];

export type CallKind = "test" | "types" | "lint" | "build";

/** A command with its source. `kind` is that of its strongest call: a test before types, a linter and a build. */
export interface SourcedCommand extends Pick<ProjectCheck, "command" | "line"> {
  readonly kind: CallKind;
  readonly from: { readonly name: SourceName; readonly file?: string };
}

/** A source of the project is known for later jobs; a line of one request, or of one coder, is for its own job. */
export function isOfProject({ from }: Pick<SourcedCommand, "from">): boolean {
  return SOURCES.indexOf(from.name) < SOURCES.indexOf("request");
}

const KINDS: readonly CallKind[] = ["test", "types", "lint", "build"];

/** The kind of work of a program: always, or with the word behind the colon among its arguments. */
const PROGRAMS: Readonly<Record<CallKind, readonly string[]>> = names.programs;

/** Options with which a program changes files, waits for changes, or only prints. */
const UNSUITED =
  /^(?:--fix\S*|--write|-w|--watch\S*|-u|--update\S*|--unsafe-fixes|--help|-h|--version|--ui|--co|--collect-only|watch|dev)$/;

/** The words that start the program behind them: a package manager, an environment, variables. */
const STARTERS: readonly (readonly [RegExp, number])[] = [
  [/^(?:npx|pnpx|bunx|cross-env|time|xvfb-run|nyc|c8)$/, 1],
  [
    /^(?:(?:pnpm|yarn|npm) exec|(?:uv|poetry|pdm|hatch|pipenv|rye|coverage) run|bundle exec|timeout \d+[smh]?|python3? -m|py -m)$/,
    2,
  ],
];

/** A word whose value is known; a pattern of files is its own value. */
interface KnownWord {
  readonly text: string;
  readonly value: string;
}

const ASSIGNS = /^[A-Za-z_]\w*=/;

/** The words from the program on, without what starts it. */
function fromProgram(words: readonly KnownWord[]): readonly KnownWord[] {
  const [first = "", second = ""] = words.map(({ value }) => value);
  const starts = ([start, length]: (typeof STARTERS)[number]) =>
    start.test(length === 1 ? baseName(first) : `${baseName(first)} ${second}`);
  const taken = STARTERS.find(starts)?.[1] ?? (ASSIGNS.test(first) ? 1 : 0);
  if (taken === 0) return words;
  const rest = words.slice(taken);
  const own = rest.findIndex(({ value }) => !/^-/.test(value) && !ASSIGNS.test(value));
  return own === -1 ? [] : fromProgram(rest.slice(own));
}

function kindOf([program = "", ...args]: readonly string[]): CallKind | null {
  const name = baseName(program)
    .replace(/^(mvn|gradle)w$/, "$1")
    .replace(/^py\.test$/, "pytest");
  if (args.some((word) => UNSUITED.test(word))) return null;
  const isIt = (kind: CallKind) =>
    PROGRAMS[kind].some((entry) => {
      const [own, word] = entry.split(":");
      return own === name && (word === undefined || args.includes(word));
    });
  return KINDS.find(isIt) ?? null;
}

/** One call of a known program. */
export interface ReadCall {
  readonly kind: CallKind;
  readonly line: string;
  /** From the program on, as the text has them. */
  readonly words: readonly string[];
  /** Words that must precede the program: a change of folder, variables. */
  readonly before: string;
}

const SCRIPT_CALL = /^(?:npm|pnpm|yarn|bun)$/;
/** The redirections that a call may have: its errors beside its output, or none at all. */
const QUIET = /^(?:1|\/dev\/null)$/;
const MOST_NESTED = 3;

/** The calls of one line; null where any part of it is something else. `ofMany`: such parts, and redirections, are left out. */
function readLine(
  text: string,
  about: SourceDeps,
  { depth = 0, ofMany = false }: { readonly depth?: number; readonly ofMany?: boolean } = {},
): readonly ReadCall[] | null {
  const parsed = about.parse(text, "bash");
  // A call in the background ends at another time than its line.
  if (!parsed.ok || parsed.script.functions.length > 0 || /(?<![&>])&(?![&>\d])/.test(text)) return null;
  const calls: ReadCall[] = [];
  let place = "";
  for (const command of parsed.script.commands) {
    const words = knownWords(ofMany ? { ...command, redirects: [] } : command);
    const [first, folder] = words ?? [];
    if (first?.value === "cd" && /^(?!\/|.*\.\.)[\w./@-]+$/.test(folder?.value ?? "")) {
      place = `cd ${folder?.value} && `;
      continue;
    }
    const read = words === null ? null : readCall(words, about, depth);
    // A call behind another change of folder runs in an unknown place.
    if (ofMany && read === null && /^(?:cd|pushd|popd)$/.test(command.words[0]?.value ?? "cd")) break;
    if (read === null && !ofMany) return null;
    for (const call of read ?? [])
      calls.push({ ...call, line: `${place}${call.line}`, before: `${place}${call.before}` });
  }
  return calls;
}

/** The folder of a user, and what a word selects otherwise, is known only to a running shell. */
const PATTERN = /^[\w./@*?,{}[\]!-]+$/;

function knownWords({ words, assignments, redirects, input }: ShellCommand): readonly KnownWord[] | null {
  const all = words.flatMap(({ text, value }) =>
    value !== null ? [{ text, value }] : PATTERN.test(text) ? [{ text, value: text }] : [],
  );
  const set = assignments.flatMap(({ name, value }) =>
    value.value === null ? [] : [{ text: `${name}=${value.text}`, value: `${name}=${value.value}` }],
  );
  const isKnown = all.length === words.length && set.length === assignments.length && words.length > 0;
  const isPlain = redirects.every(({ target }) => QUIET.test(target.value ?? ""));
  return isKnown && isPlain && input.kind === "inherited" ? [...set, ...all] : null;
}

function readCall(words: readonly KnownWord[], about: SourceDeps, depth: number): readonly ReadCall[] | null {
  const own = fromProgram(words);
  const [program = "", ...args] = own.map(({ value }) => value);
  if (SCRIPT_CALL.test(program) && args[0] !== "test" && depth < MOST_NESTED) {
    const [name = "", ...more] = args.filter((word) => word !== "run");
    const script = scriptsOf(about.files)[name];
    return script === undefined || more.length > 0 ? null : readLine(script, about, { depth: depth + 1 });
  }
  const kind = kindOf([program, ...args]);
  if (kind === null) return null;
  const [call = "", ...texts] = own.map(({ text }) => text);
  const tool = baseName(program).replace("py.test", "pytest");
  const line = PYTHON.test(tool)
    ? pythonLine(about.files, tool, texts)
    : nameTests([call, ...texts].join(" "));
  const set = words.flatMap(({ text, value }) => (ASSIGNS.test(value) ? [`${text} `] : [])).join("");
  return [{ kind, line: `${set}${line}`, words: [call, ...texts], before: set }];
}

const PYTHON = /^(?:flake8|mypy|pylint|pyright|pytest|ruff|unittest)$/;

export interface SourceDeps {
  readonly files: ProjectFiles;
  readonly parse: ParseShell;
}

/** A text of a source: lines of a shell, and the folder where they run. */
export interface SourceText {
  readonly from: SourcedCommand["from"];
  readonly text: string;
  readonly folder?: string;
}

/** The commands in these texts, each line once. Names of a matrix or of a secret are no known words, so their lines fall away. */
export function readSources(texts: readonly SourceText[], about: SourceDeps): readonly SourcedCommand[] {
  const found = texts.flatMap((text) =>
    linesOf(text).flatMap((line) => toCommand(line, text.from, about) ?? []),
  );
  const seen = new Set<string>();
  return found.filter(({ line }) => !seen.has(line) && seen.add(line));
}

const LONGEST = 1000;

function linesOf({ text, folder }: SourceText): string[] {
  return text
    .replace(/\s*\\\n\s*/g, " ")
    .split("\n")
    .map((line) => line.trim().replace(/^[$>%] +/, ""))
    .filter((line) => line !== "" && line.length < LONGEST && !line.startsWith("#"))
    .map((line) => (folder === undefined ? line : `cd ${folder} && ${line}`));
}

/** The calls of known programs in each text, without what stands around them. */
export function readCalls(text: SourceText, about: SourceDeps): readonly ReadCall[] {
  return linesOf(text).flatMap((line) => readLine(line, about, { ofMany: true }) ?? []);
}

function toCommand(text: string, from: SourcedCommand["from"], about: SourceDeps): SourcedCommand | null {
  // Of what a coder ran, the runs of tests count, and not what stood around them.
  const calls =
    readLine(text, about) ?? (from.name === "ran" ? readLine(text, about, { ofMany: true }) : null);
  const kind = KINDS.find((one) => calls?.some((call) => call.kind === one));
  if (calls === null || kind === undefined) return null;
  // The example of a document, or a shard of a CI job, is no check of the project.
  if (isOfProject({ from }) && SELECTS.test(text)) return null;
  const line = [...new Set(calls.map((call) => call.line))].join(" && ");
  const command = from.name === "ran" ? line : text;
  return { kind, command, line: line.includes(" -m ") ? line : withOwnPrograms(line), from };
}

/** Options and words that select some tests. */
const SELECTS =
  /(?: -k| -run|--grep|--filter|--testNamePattern|--shard|--test-name-pattern)[ =]| -Dtest=|::|\w_test\.|\/test_\w+\.py|\.(?:test|spec)\.\w+(?= |$)/;

/** Scripts beside the one that is called `test`, such as the runner that a wrapper starts. */
export function scriptTexts(files: ProjectFiles, names = /test|spec|unit/): readonly SourceText[] {
  const file = "package.json";
  return Object.entries(scriptsOf(files)).flatMap(([name, text]) =>
    name !== "test" && names.test(name) && text !== undefined
      ? [{ from: { name: "script", file }, text }]
      : [],
  );
}

/** The runners that the project's own configuration names, where they are installed. */
export function runnerTexts({ names, programs = [] }: ProjectFiles): readonly SourceText[] {
  return Object.entries({ mocha: "mocha", vitest: "vitest run", jest: "jest", ava: "ava" }).flatMap(
    ([program, text]) => {
      const file = names.find((name) =>
        new RegExp(`^(?:\\.${program}rc|${program}\\.config)\\.\\w+$`).test(name),
      );
      return file !== undefined && (programs === "linked" || programs.includes(program))
        ? [{ from: { name: "runner", file }, text }]
        : [];
    },
  );
}

/** Keys whose texts a CI service or a task runner executes. */
const RUN_KEYS = /^(?:run|script|before_script|command|cmds?|bash)$/;

/** The texts in a parsed file of a CI service. */
export function ciTexts(read: unknown, from: SourcedCommand["from"]): readonly SourceText[] {
  if (typeof read !== "object" || read === null) return [];
  const folder = (read as Record<string, unknown>)["working-directory"];
  return Object.entries(read).flatMap(([key, value]) => {
    const lines = [value].flat().filter((one): one is string => typeof one === "string");
    if (!RUN_KEYS.test(key) || lines.length === 0) return ciTexts(value, from);
    return lines.map((text) => ({ from, text, ...(typeof folder === "string" && { folder }) }));
  });
}

/** Recipes of make and just, commands of tox, calls of nox. */
export function taskTexts(text: string, from: SourcedCommand["from"]): readonly SourceText[] {
  if (from.file?.endsWith(".py")) {
    const calls = [...text.matchAll(/\bsession\.run\(((?:\s*"[^"\n]*",?)+)/g)];
    return calls.map(([, words = ""]) => ({
      from,
      text: [...words.matchAll(/"([^"\n]*)"/g)].map(([, word]) => word).join(" "),
    }));
  }
  // Of an ini file only what continues `commands`: `[gh-actions]` has lines that begin with a tool's name.
  const written = from.file?.endsWith(".ini")
    ? [...text.matchAll(/^commands *=[^\n]*(?:\n[ \t]+[^\n]*|\n(?=\n[ \t]))*/gm)]
        .map(([one]) => one)
        .join("\n")
    : text;
  const lines = written.split("\n").flatMap(
    (line) =>
      /^[ \t]+[@-]*(\S.*)$|^commands *= *(\S.*)$/
        .exec(line)
        ?.slice(1)
        .find((one) => one) ?? [],
  );
  const plain = lines.map((line) =>
    line.replace(/\{posargs[^}]*\}/g, "").replace(/\{envpython\}/g, "python"),
  );
  return [{ from, text: plain.join("\n") }];
}

/** The hooks of pre-commit: their programs, without the files that it hands them. */
export function hookTexts(text: string, from: SourcedCommand["from"]): readonly SourceText[] {
  const ids = [...text.matchAll(/^ *-? *id: *(ruff|mypy|eslint|flake8)(?:-check)? *$/gm)];
  return ids.map(([, id = ""]) => ({ from, text: id === "ruff" ? "ruff check" : id }));
}

/** Code spans and fences of a document, or of a request. */
export function spokenTexts(text: string, from: SourcedCommand["from"]): readonly SourceText[] {
  const fences = [...text.matchAll(/^ *```[^\n]*\n(.*?)^ *```/gms)].map(([, body = ""]) => body);
  const rest = text.replace(/^ *```[^\n]*\n.*?^ *```/gms, "");
  const spans = [...rest.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
  return [...fences, ...spans].map((one) => ({ from, text: one }));
}
