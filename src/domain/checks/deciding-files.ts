import { attemptOr } from "../platform/error-text.ts";
import { type ChangedText, decidesChecks, isCodePath, isDocumentation, isTestPath } from "./path-kinds.ts";

/** Parts of a `package.json` that decide; a version or a dependency does not. */
const DECIDING_KEYS = ["scripts", "config", "jest", "mocha", "ava", "tap", "c8", "nyc", "vitest", "babel"];

/** Whether a deciding file changed in a part that decides. */
export function changesWhatDecides({ path, before, after }: ChangedText): boolean {
  if (before === null || after === null) return true;
  const part = /(?:^|\/)package\.json$/.test(path)
    ? decidingPartOfJson
    : /(?:^|\/)(?:pyproject|Cargo)\.toml$/.test(path)
      ? decidingPartOfToml
      : (text: string) => text;
  return part(before) !== part(after);
}

/** The whole text where it cannot be parsed. */
function decidingPartOfJson(text: string): string {
  const keep = (read: Readonly<Record<string, unknown>> | null) =>
    DECIDING_KEYS.map((key) => read?.[key] ?? null);
  return attemptOr(text, () => JSON.stringify(keep(JSON.parse(text))));
}

/** Sections of a TOML manifest that decide nothing, and keys of those that describe the package. */
const PLAIN_SECTION =
  /^(?:[\w.-]+\.)?(?:(?:dev-|build-|optional-)?dependencies(?:\.[\w-]+)?|dependency-groups|urls|features)$/;
const DESCRIBES = /^(?:project|package|workspace\.package|tool\.poetry)$/;
const PLAIN_KEY =
  /^(?:version|description|authors|maintainers|readme|license|license-files|keywords|classifiers|categories|dependencies|requires-python|rust-version|homepage|repository|documentation) *=/;

/** Without lines known not to influence checks. A triple-quoted text may contain anything, so such a file counts as a whole. */
function decidingPartOfToml(text: string): string {
  if (/"""|'''/.test(text)) return text;
  let section = "";
  /** How many brackets are open in the value of a key that decides nothing. */
  let open = 0;
  return text
    .split("\n")
    .filter((line) => {
      const bare = line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, "").replace(/#.*/, "");
      const depth = (bare.match(/[[{]/g) ?? []).length - (bare.match(/[\]}]/g) ?? []).length;
      if (open > 0) {
        open += depth;
        return false;
      }
      const header = /^\s*\[{1,2}([\w.-]+)\]{1,2}\s*$/.exec(bare)?.[1];
      if (header !== undefined) section = header;
      const isPlain =
        PLAIN_SECTION.test(section) || (DESCRIBES.test(section) && PLAIN_KEY.test(line.trimStart()));
      if (isPlain && header === undefined) open = Math.max(0, depth);
      return !isPlain && bare.trim() !== "";
    })
    .join("\n");
}

const SPEAKS: readonly RegExp[] = [
  /\bnode:test\b|\bNODE_TEST_CONTEXT\b|\bJEST_WORKER_ID\b|\bVITEST(?:_\w+)?\b|\bPYTEST_CURRENT_TEST\b/,
  /^\s*(?:import|from)\s+_?pytest\b/,
  /\bfrom\s+["'](?:vitest|@jest\/globals|bun:test|mocha|ava|tape)["']|\brequire\(["'](?:vitest|@jest\/globals|mocha|ava|tape)["']\)/,
  /\bexpect\.extend\(|\b(?:unittest\.)?TestCase\.\w+\s*=(?!=)|\bsetattr\(\s*(?:unittest\b|TestCase\b|pytest\b)/,
  /\bsys\.modules\[\s*["'](?:pytest|unittest)["']\s*\]/,
];
/** Names that a file gives to an assertion library: `import a from "node:assert"`, `const b = assert`. */
const NAMES_JUDGE =
  /\bimport\s+(?:\*\s+as\s+)?(\w+)(?:\s*,[^;\n]*)?\s+from\s+["'](?:node:)?assert(?:\/strict)?["']|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:await\s+import\(|require\()\s*["'](?:node:)?assert(?:\/strict)?["']|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:assert|expect)\s*(?:[;,]|$)|\bstrict\s+as\s+(\w+)/gm;
const JUDGES = ["assert", "expect", "AssertionError"];

/** A line that replaces an assertion function, in any spelling. */
function replacesAssertion(text: string): RegExp {
  const named = [...text.matchAll(NAMES_JUDGE)].flatMap((found) => found.slice(1).filter((name) => name));
  const judge = `(?<![\\w$.])(?:globalThis\\.)?(?:${[...new Set([...JUDGES, ...named])].join("|")}|require\\(\\s*["'](?:node:)?assert(?:/strict)?["']\\s*\\))(?![\\w$])`;
  return new RegExp(
    [
      `${judge}(?:\\([^()]*\\))?(?:\\.\\w+|\\[[^\\]]*\\])+\\s*=(?![=>])`,
      `\\b(?:Object|Reflect)\\.(?:assign|definePropert(?:y|ies)|setPrototypeOf|set|deleteProperty)\\(\\s*${judge}`,
      `\\b(?:getPrototypeOf\\(\\s*|__proto__\\b.*)${judge}`,
      `\\bdelete\\s+${judge}[.[]`,
    ].join("|"),
  );
}

/** A program may end its own process: these count only in files that are not programs. */
const ENDS = /\bprocess\.(?:exit|reallyExit)\s*\(|\bos\._exit\s*\(|\bos\.Exit\(0\)|\bprocess::exit\(0\)/;
const PROGRAM = /(?:^|\/)(?:bin|cli|scripts?|cmd)(?:\/|\.\w+$)|(?:^|\/)(?:main|__main__)\.\w+$/;

/** Files of declarations, which no test runs. */
const DECLARES = /\.(?:d\.[cm]?ts|pyi)$/i;

/** Lines that a change adds outside of tests and that refer to the test run: they may return what the tests expect. */
export function findTestRunLines(
  differences: readonly { readonly path: string; readonly before: string; readonly after: string }[],
) {
  return differences.flatMap(({ path, before, after }) => {
    const isCode = isCodePath(path) || DECLARES.test(path);
    if (!isCode || isTestPath(path) || isDocumentation(path) || decidesChecks(path)) return [];
    const known = new Set(before.split("\n"));
    const mayEnd = PROGRAM.test(path) || after.startsWith("#!") || ENDS.test(before);
    const replaces = replacesAssertion(after);
    const speaks = (line: string) =>
      replaces.test(line) || SPEAKS.some((one) => one.test(line)) || (!mayEnd && ENDS.test(line));
    return after
      .split("\n")
      .filter((line) => !known.has(line) && speaks(line))
      .map((line) => ({ path, line: line.trim().slice(0, LONGEST) }));
  });
}

const LONGEST = 160;

/** The path in `from "./a"`, `import("./a")`, `require("./a")`, `from a.b import c`, `import a.b`. */
const IMPORTED =
  /(\bfrom\s*|\bimport\s*\(?\s*|\brequire\(\s*)(["'])[^"'\n]*\2|(^\s*(?:from|import)\s+)[\w.]+/gm;

/** Whether a change of a file affects only the paths in its imports. */
export function changesImportsOnly({ before, after }: ChangedText): boolean {
  const rest = (text: string | null) => text?.replace(IMPORTED, "$1$3");
  return rest(before) === rest(after);
}

/** Build folders, whose files follow from sources. */
const BUILT = /(?:^|\/)(?:dist|build|out|target|\.next|\.nuxt)\//;

/** The files of build folders among these; none where all are. */
export function builtAmong(paths: readonly string[]): string[] {
  const built = paths.filter((path) => BUILT.test(path));
  return built.length === paths.length ? [] : built;
}

/** Folders below a home where tools keep downloads and packages. */
const STORED =
  /^(?:\.cache|\.npm|\.pnpm-store|\.yarn|\.local\/(?:lib|share|state)|go\/pkg|\.cargo\/(?:registry|git)|\.rustup|\.m2\/repository|\.gradle|\.bun\/install|\.gem|\.bundle\/cache|\.composer\/cache)\//;
const STARTS_WITH_PYTHON = /(?:^|\/)(?:sitecustomize|usercustomize)\.py$|\.pth$/;

/** Whether a file in a home may decide how checks run: a program, a setting, a file that a language runs at its start. */
export function decidesInHome(path: string): boolean {
  return !STORED.test(path) || STARTS_WITH_PYTHON.test(path);
}
