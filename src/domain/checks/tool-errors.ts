/**
 * Type checkers and linters: the calls that a project's scripts and CI make of them, their lines for a change, and their errors.
 * In: texts of sources, paths of a change, outputs over the old code and over the draft. Out: lines to run, and which errors are new.
 * Invariant: an error is known by its file, its code and its message without numbers and paths, so that moved lines change nothing.
 */
import { type CallKind, readCalls, type SourceDeps, type SourceText } from "./command-sources.ts";
import { blankVariables } from "./failures.ts";
import { quotePath } from "./narrow-check.ts";

/** A call as the project makes it. */
export interface ToolCall {
  readonly tool: string;
  /** As people type it. */
  readonly command: string;
  /** From the program on. */
  readonly words: readonly string[];
  readonly before: string;
  readonly kind: CallKind;
  /** The text that calls it. */
  readonly text: string;
}

interface Tool {
  /** The files that it judges. */
  readonly files: RegExp;
  /** It judges each file by itself, so it is given the changed files alone; `bare`: only where the call names nothing. */
  readonly isByFile?: true | "bare";
  /** Options for output that can be read, and where one of the call's own stands against them. */
  readonly flags?: readonly [text: string, unless: RegExp];
}

const SCRIPTS = /\.(?:[cm]?[jt]sx?|vue|svelte)$/;
const PYTHON = /\.pyi?$/;
const TYPESCRIPT: Tool = {
  files: /\.(?:[cm]?[jt]sx?|vue)$|(?:^|\/)tsconfig[^/]*\.json$/,
  flags: ["--noEmit", / (?:--noEmit|-b|--build|--emitDeclarationOnly)\b/],
};
const GO: Tool = { files: /\.go$|(?:^|\/)go\.mod$/ };

const TOOLS: Readonly<Record<string, Tool>> = {
  tsc: TYPESCRIPT,
  "vue-tsc": TYPESCRIPT,
  mypy: { files: PYTHON, isByFile: "bare" },
  pyright: { files: PYTHON },
  go: GO,
  "golangci-lint": GO,
  cargo: { files: /\.rs$|(?:^|\/)Cargo\.toml$/, flags: ["--message-format=short", / --message-format/] },
  eslint: { files: SCRIPTS, isByFile: true },
  oxlint: { files: SCRIPTS, isByFile: true },
  stylelint: { files: /\.(?:css|scss|sass|less|vue)$/, isByFile: true },
  biome: {
    files: /\.(?:[cm]?[jt]sx?|jsonc?|css|vue)$/,
    isByFile: true,
    flags: ["--max-diagnostics=200", / --(?:max-diagnostics|reporter)/],
  },
  ruff: { files: PYTHON, isByFile: true, flags: ["--output-format=concise", / --output-format/] },
  flake8: { files: PYTHON, isByFile: true },
  pylint: { files: PYTHON, isByFile: true },
};

const WITHOUT_DOTS = /^(?:.*\/)?([^/]+?)(?:\.(?:cmd|js|mjs))?$/;
const toolOf = ([program = ""]: readonly string[]) => WITHOUT_DOTS.exec(program)?.[1] ?? program;

/** Each tool by the texts that call it: those that only check before those that build, then in the order of the texts. */
export function findToolCalls(texts: readonly SourceText[], about: SourceDeps): readonly ToolCall[] {
  const read = texts.map((text) =>
    readCalls(text, about).flatMap(({ kind, words, before }): ToolCall[] => {
      const tool = toolOf(words);
      const isOurs = kind !== "test" && TOOLS[tool] !== undefined && (kind !== "build" || tool === "tsc");
      return isOurs ? [{ tool, command: words.join(" "), words, before, kind, text: text.text }] : [];
    }),
  );
  const found: ToolCall[] = [];
  for (const isBuild of [false, true])
    for (const calls of read) {
      const more = calls.filter(
        ({ tool, kind }) => (kind === "build") === isBuild && !found.some((one) => one.tool === tool),
      );
      found.push(
        ...more.filter(({ command }, at) => more.findIndex((one) => one.command === command) === at),
      );
    }
  return found;
}

/** Words that precede a call: the project's own programs come first. */
const OWN_TOOLS = 'export PATH="$PWD/.venv/bin:$PWD/venv/bin:$PWD/node_modules/.bin:$PATH"; ';
const TAKES_VALUE =
  /^(?:-c|--config(?:-path)?|--ext|--ignore-(?:path|pattern)|--max-warnings|--parser|--parser-options|--plugin|--rule|--rulesdir|--format|-f|--output-format|--select|--ignore|--cache-location|--resolve-plugins-relative-to|--rcfile)$/;

/** The line of a call for these changed files; null where the call judges none of them. */
export function toolLine(call: ToolCall, paths: readonly string[], names: readonly string[]): string | null {
  const { words, before } = call;
  const { files, isByFile, flags } = TOOLS[call.tool] as Tool;
  const own = paths.filter((path) => files.test(path));
  if (own.length === 0) return null;
  const added = flags === undefined || flags[1].test(` ${words.join(" ")}`) ? [] : [flags[0]];
  const isGiven = isByFile === true || (isByFile === "bare" && words.length === 1);
  if (!isGiven || before.startsWith("cd ")) return `${OWN_TOOLS}${before}${[...words, ...added].join(" ")}`;
  const isOperand = (word: string, at: number) => {
    const bare = word.replace(/^["']|["']$/g, "").replace(/^\.\//, "");
    if (at === 0 || word.startsWith("-") || TAKES_VALUE.test(words[at - 1] ?? "")) return false;
    return /^\.?\/?$|[*{]/.test(bare) || names.includes(bare.split("/", 1)[0] ?? "");
  };
  const folders = words.filter(isOperand).map(folderOf);
  const extensions = /--ext[= ]["']?([\w.,]+)/.exec(words.join(" "))?.[1]?.split(",");
  const judged = own.filter(
    (path) =>
      (folders.length === 0 || folders.some((folder) => path.startsWith(folder))) &&
      (extensions === undefined || extensions.some((one) => path.endsWith(`.${one.replace(/^\./, "")}`))),
  );
  if (judged.length === 0) return null;
  const kept = words.filter((word, at) => !isOperand(word, at) && word !== "--");
  return `${OWN_TOOLS}${before}${[...kept, ...added, ...judged.map(quotePath)].join(" ")}`;
}

/** The folder that an operand names, or in which its pattern begins. */
function folderOf(word: string): string {
  const bare = word.replace(/^["']|["']$/g, "").replace(/^\.\/?/, "");
  const fixed = bare.replace(/[^/]*[*{].*$/, "");
  return fixed !== bare || bare === "" || /\.\w+$/.test(bare) ? fixed : `${bare.replace(/\/$/, "")}/`;
}

/** One error of a tool; `text` is its line as printed. */
export interface ToolError {
  readonly file: string;
  readonly key: string;
  readonly text: string;
}

const COLOURS = /\u001b\[[0-9;?]*[A-Za-z]/g;
const LONGEST = 2000;
/** `a.ts(3,5): error TS2322: …`, `a.py:3: error: …`, `a.go:3:5: …`, `a.rs:3:5: error[E0308]: …`. */
const ONE_LINE =
  /^\s*(?:vet: )?(?:\.\/)?([^\s:(][^:(]*?)(?:\(\d+,\d+\)|:\d+(?::\d+)?)(?:-\d+)?(?::| -) (\S.*)$/;
/** A row of eslint and stylelint below the path of its file. */
const ROW = /^\s+\d+:\d+\s+(error|warning|✖|⚠)\s+(\S.*)$/;
/** The head of a diagnostic of biome; its message follows. */
const HEAD = /^(\S+?)(?::\d+:\d+)? ((?:lint|parse|format|assist|organizeImports|suppressions)\S*).* ━+$/;
const NO_ERROR = /^(?:warning|note|info|information|help)\b|\bFile ignored\b/;
const PATH = /^\S.*\.\w+$/;

/** The errors in an output; warnings are none. */
export function readToolErrors(output: string): readonly ToolError[] {
  const errors: ToolError[] = [];
  let file = "";
  let head: string | null = null;
  const add = (path: string, message: string, text: string) => {
    if (NO_ERROR.test(message)) return;
    const said = /\bParsing error\b/.test(message) ? "Parsing error" : message;
    errors.push({ file: path, key: `${path} ${blankVariables(said)}`, text: text.trim() });
  };
  for (const line of output.replace(COLOURS, "").split(/\r?\n/)) {
    if (line.length > LONGEST) continue;
    const [row, one, begun] = [ROW.exec(line), ONE_LINE.exec(line), HEAD.exec(line)];
    const isMessage = head !== null && /^\s+[×✖!ℹi] /.test(line);
    if (begun !== null) [file, head] = [begun[1] as string, begun[2] as string];
    else if (isMessage) {
      // biome marks warnings and information by another sign.
      if (/^\s+[×✖]/.test(line))
        add(file, `${head} ${line.trim().slice(2)}`, `${file}: ${head} ${line.trim().slice(2)}`);
      head = null;
    } else if (row !== null && file !== "") {
      if (/error|✖/.test(row[1] as string))
        add(file, row[2] as string, `${file}:${line.trim().replace(/\s+/g, " ")}`);
    } else if (one !== null) add(one[1] as string, one[2] as string, line);
    else if (PATH.test(line) && !line.includes(": ")) file = line.trim();
  }
  return errors;
}

/** Packages that are not installed: everything that follows from them is no error of the code. */
const NO_PACKAGE =
  /\bTS2307: Cannot find module '(?![./])|\bTS2688\b|\bTS7016\b|reportMissingImports|could not import \S+ \(no required module|cannot find module providing/;

export function lacksPackages(errors: readonly ToolError[]): boolean {
  return errors.some(({ text }) => NO_PACKAGE.test(text));
}

/** The errors over the draft that the old code does not have. The old ones of a file that was moved count for its new path. */
export function findNewErrors(
  before: readonly ToolError[],
  now: readonly ToolError[],
  change: { readonly added: readonly string[]; readonly deleted: readonly string[] },
): readonly ToolError[] {
  const bare = ({ file, key }: ToolError) => key.slice(file.length);
  const known = Map.groupBy(before, ({ key }) => key);
  const left = now.filter(({ key }) => known.get(key)?.pop() === undefined);
  const gone = Map.groupBy(
    [...known.values()].flat().filter(({ file }) => change.deleted.includes(file)),
    bare,
  );
  return left.filter(
    (error) =>
      !change.added.includes(error.file) ||
      // A linter that is not set up for a kind of file cannot parse it.
      (gone.get(bare(error))?.pop() === undefined && !error.key.endsWith(" Parsing error")),
  );
}
