/**
 * Lines of a change that replace parts of the code for the rest of a test run: an assignment to an imported module, a patch that nothing
 * ends, a module that hides another one. In: the changed files and the code of the project. Out: the lines, which a reply can show.
 * The syntax decides, never a name or a comment. What a runner undoes after a test or a file (`monkeypatch`, `vi.mock`) is none.
 */
import { parentOf } from "../platform/paths.ts";
import { type ChangedText, isCodePath, isTestPath } from "./path-kinds.ts";

/** A line that replaces a part of the code, with its file. */
export interface CodePatch {
  readonly path: string;
  readonly line: string;
}

/** The lines that new or changed tests, and new files of code, add. */
export function findPatches(
  changed: readonly ChangedText[],
  texts: ReadonlyMap<string, string>,
): CodePatch[] {
  return changed.flatMap(({ path, before, after }) => {
    const isRead = isCodePath(path) && (isTestPath(path) || before === null);
    const language = LANGUAGES.find(({ files }) => files.test(path));
    if (after === null || !isRead || language === undefined) return [];
    const names = language.names(after, path, texts);
    const patterns = [...language.always, ...(names.length === 0 ? [] : language.patterns(anyOf(names)))];
    const known = new Set((before ?? "").split("\n"));
    const lines = after.split("\n").filter((line) => !known.has(line) && !COMMENT.test(line));
    const found = lines.filter((line) => patterns.some((one) => one.test(line)));
    const hidden = before === null ? hides(path, texts) : null;
    const all = [...found.map((line) => line.trim().slice(0, LONGEST)), ...(hidden === null ? [] : [hidden])];
    return all.map((line) => ({ path, line }));
  });
}

const LONGEST = 160;
const COMMENT = /^\s*(?:#|\/\/|\*)/;

const anyOf = (names: readonly string[]) =>
  `(?:${names.map((name) => name.replaceAll("$", "\\$")).join("|")})`;
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)];
/** An attribute or an element of a name: `.add`, `["add"]`. */
const PART = "(?:\\s*(?:\\.\\s*[\\w$]+|\\?\\.\\s*[\\w$]+|\\[[^\\]]*\\]))";
const ASSIGNED = "\\s*(?::[^=]*)?(?:\\*\\*|\\/\\/|<<|>>|\\|\\||&&|\\?\\?|[-+*/%|&^@])?=(?![=>~])";

interface Language {
  readonly files: RegExp;
  /** Names that stand for code outside of the file. */
  readonly names: (text: string, path: string, texts: ReadonlyMap<string, string>) => readonly string[];
  readonly patterns: (names: string) => readonly RegExp[];
  /** Forms that reach other tests, whatever they name. */
  readonly always: readonly RegExp[];
}

/** `import a.b as c, d` and `from a import (b, c as d)`. */
function pythonNames(text: string): string[] {
  const plain = matches(text, /^\s*import\s+([\w., ]+)/gm).flatMap(([, list = ""]) => list.split(","));
  const taken = matches(text, /^\s*from\s+[.\w]+\s+import\s+(?:\(([^)]*)\)|([\w, ]+))/gm).flatMap(
    ([, many, few = ""]) => (many ?? few).replace(/#.*/g, "").split(","),
  );
  const made = matches(text, /^\s*(\w+)\s*=\s*(?:importlib\.import_module|import_module|__import__)\(/gm);
  const imported = [...plain, ...taken].flatMap((one) => {
    const [, name = "", other] = /^\s*([\w.]+)(?:\s+as\s+(\w+))?\s*$/.exec(one) ?? [];
    return other ?? name.split(".")[0] ?? "";
  });
  return withAliases(text, [...imported, ...made.map(([, name = ""]) => name)]);
}

/** `import a, { b as c } from`, `import * as d from`, `const e = require(`, `const { f: g } = await import(`. */
function scriptNames(text: string): string[] {
  const heads = matches(text, /\bimport\s+(?!type\b)([\w$*{}\s,]+?)\s+from\s+["']/g);
  const made = matches(
    text,
    /\b(?:const|let|var)\s+([\w$]+|\{[^}]*\})\s*=\s*(?:await\s+import|require)\s*\(/g,
  );
  const words = [...heads, ...made].flatMap(([, list = ""]) =>
    list.split(/[{},]/).map((one) => /([\w$]+)\s*$/.exec(one)?.[1] ?? ""),
  );
  return withAliases(text, words);
}

/** Names for the same objects, or for parts of them: `c = calc`, `const proto = Calc.prototype`. */
function withAliases(text: string, names: readonly string[]): string[] {
  const known = new Set(names.filter((name) => name !== ""));
  if (known.size === 0) return [];
  const same = matches(
    text,
    /^\s*(?:const\s+|let\s+|var\s+)?([\w$]+)\s*=\s*([\w$]+)(?:\.[\w$]+)*\s*;?\s*$/gm,
  );
  for (const [, name = "", other = ""] of same) if (known.has(other)) known.add(name);
  return [...known];
}

/** The classes and modules that files outside of the tests define. */
function definedClasses(texts: ReadonlyMap<string, string>, files: RegExp): string[] {
  const sources = [...texts].filter(([path]) => files.test(path) && !isTestPath(path));
  const defined = sources.flatMap(([, text]) =>
    matches(text, /^\s*[\w ]*\b(?:class|module|enum|object)\s+([A-Z]\w*)/gm),
  );
  return [...new Set(defined.map(([, name = ""]) => name))];
}

/** Imported packages, and the variables of the own package. */
function goNames(text: string): string[] {
  const [head = ""] = text.split(/^(?:func|type|var|const)\b/m, 1);
  const imported = matches(head, /(?:^|\s)(\w+\s+)?"(?:[^"]*\/)?([\w.-]+)"/g).map(([, other, name = ""]) =>
    (other ?? name).trim(),
  );
  return imported.map((name) => name.replace(/[.-].*/, "")).filter((name) => name !== "" && name !== "_");
}

function goVariables(path: string, texts: ReadonlyMap<string, string>): string[] {
  const own = [...texts].filter(([one]) => /(?<!_test)\.go$/.test(one) && parentOf(one) === parentOf(path));
  const found = own.flatMap(([, text]) => [
    ...matches(text, /^var\s+(\w+)/gm),
    ...matches(text, /^var\s*\(([^)]*)\)/gm).flatMap(([, list = ""]) => matches(list, /^\s+(\w+)/gm)),
  ]);
  return found.map(([, name = ""]) => name);
}

const LANGUAGES: readonly Language[] = [
  {
    files: /\.py$/,
    names: pythonNames,
    patterns: (names) => [
      new RegExp(`(?<![\\w.])(?!os\\.environ\\[)${names}${PART}+${ASSIGNED}`),
      new RegExp(`^\\s*${names}${PART}+\\s*,[^=()]*=(?!=)`),
      new RegExp(`(?<![\\w.])(?:setattr|delattr|vars)\\(\\s*${names}\\b`),
      new RegExp(`\\bdel\\s+${names}\\.|(?<![\\w.])${names}(?:\\.\\w+)*\\.__(?:dict|code|class|globals)__`),
    ],
    always: [
      /\)\.start\(\)|\.__enter__\(|\benter_context\(|\bMonkeyPatch\(\)/,
      /\bsys\.modules\b|\b__builtins__\b|\bimportlib\.reload\(/,
      /^\s*pytest_plugins\s*=|\bpluginmanager\b|\bhookimpl\b/,
      /\bscope\s*=\s*["'](?:session|package)["']/,
    ],
  },
  {
    files: /\.[cm]?[jt]sx?$/,
    names: scriptNames,
    patterns: (names) => [
      new RegExp(`(?<![\\w$.])${names}${PART}+${ASSIGNED}`),
      new RegExp(
        `\\b(?:Object|Reflect)\\.(?:assign|defineProp\\w+|setPrototypeOf|set|deleteProperty)\\(\\s*${names}\\b`,
      ),
      new RegExp(`\\bdelete\\s+${names}[.[]`),
      new RegExp(`\\b(?:stub|replace|replaceGetter|define|method|spyOn)\\(\\s*${names}\\b`),
    ],
    always: [
      /(?<![\w$.])[A-Z]\w*\.prototype(?:\.\w+|\[[^\]]*\])\s*=(?![=>])/,
      /\bmock\.module\(|\brequire\.cache\b|\bModule\._\w+|\bregisterHooks\(/,
      /(?<![\w$.])(?:globalThis|global|window)(?:\.\w+|\[[^\]]*\])\s*=(?![=>])/,
    ],
  },
  {
    files: /\.rb$/,
    names: (_text, _path, texts) => definedClasses(texts, /\.rb$/),
    patterns: (names) => [
      new RegExp(`^\\s*(?:class|module)\\s+(?:\\w+::)*${names}\\s*(?:$|;|<<)`),
      new RegExp(
        `\\b${names}\\.(?:\\w+_eval|\\w+_exec|define_\\w+|send|__send__|public_send|singleton_class|prepend|include|extend|remove_\\w+|undef_\\w+|const_set|\\w+_variable_set|alias_method)\\b`,
      ),
      new RegExp(`\\bdef\\s+${names}\\.|\\b${names}(?:\\.\\w+)+\\s*=(?![=~>])|<<\\s*${names}\\b`),
    ],
    always: [/\b(?:Object|Kernel|BasicObject)\.(?:class_eval|send|define_method)\b/],
  },
  {
    files: /\.go$/,
    names: (text, path, texts) => [...goNames(text), ...goVariables(path, texts)],
    patterns: (names) => [new RegExp(`^\\s*${names}${PART}*\\s*(?:[-+*/%|&^])?=(?!=)`)],
    always: [/^func TestMain\(/],
  },
  {
    files: /\.(?:java|kt|groovy|scala)$/,
    names: (_text, _path, texts) => definedClasses(texts, /\.(?:java|kt|groovy|scala)$/),
    patterns: (names) => [new RegExp(`(?<![\\w.])${names}(?:\\.\\w+)+\\s*=(?!=)`)],
    always: [/\bmockStatic\(|\bmockConstruction\(/],
  },
];

/** The file of the code that a new file of the tests is loaded in the place of; null where there is none. */
function hides(path: string, texts: ReadonlyMap<string, string>): string | null {
  if (!isTestPath(path)) return null;
  const sources = [...texts.keys()].filter((one) => !isTestPath(one));
  if (path.endsWith(".py")) {
    // pytest puts the folder of a test file before the root.
    const module = path
      .replace(/(?:\/__init__)?\.py$/, "")
      .split("/")
      .at(-1);
    const isSame = (one: string) => /^(?:src\/)?(\w+)(?:\.py|\/__init__\.py)$/.exec(one)?.[1] === module;
    return sources.find(isSame) ?? null;
  }
  const ofMain = path.replace(/(^|\/)src\/test\//, "$1src/main/");
  return ofMain !== path && sources.includes(ofMain) ? ofMain : null;
}
