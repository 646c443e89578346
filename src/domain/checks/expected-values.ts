/**
 * Changed files outside of the tests that only tests use: expected data, constants, helpers. In: the changed files and the code of the
 * project. Out: each such file with the test files that import or read it. A library's modules may have no other users than their
 * tests, so a module counts only if no test bears its name and no manifest names it.
 */
import { importsOf } from "../platform/code-imports.ts";
import { parentOf } from "../platform/paths.ts";
import { isTestFile, sharesName } from "./affected-tests.ts";
import { type ChangedText, decidesChecks, isCodePath, isDocumentation, isTestPath } from "./path-kinds.ts";

/** A file that holds what tests expect. */
export interface ExpectedValues {
  readonly path: string;
  readonly tests: readonly string[];
  /** It has values alone: data, or a module without functions. A test that passes only with its new version was rewritten. */
  readonly isPlain: boolean;
}

/** Names by which packages load their first file, and files of packaging. */
const ENTRY = /(?:^|\/)(?:index|main|mod|lib|__init__|__main__|setup)\.\w+$/;
/** Data that programs of packaging read. */
const OF_TOOLS =
  /(?:^|\/)(?:\.[^/]+|[^/]*(?:lock|\.lockb?)(?:\.\w+)?|[^/]*config\.\w+|[\w.-]*package\.json|go\.(?:mod|sum)|requirements[\w-]*\.txt|Gemfile|[^/]*\.toml)$/i;

export function findExpectedValues(
  changed: readonly ChangedText[],
  texts: ReadonlyMap<string, string>,
  /** The texts of the manifests, in which a package names its modules. */
  manifests: string,
): ExpectedValues[] {
  const found = changed.flatMap(({ path, before, after }) => {
    if (before === null || isTestPath(path) || isDocumentation(path) || decidesChecks(path)) return [];
    if (ENTRY.test(path) || (!isCodePath(path) && OF_TOOLS.test(path))) return [];
    const users = usersOf(path, texts);
    const isNamed =
      isCodePath(path) && (users.some((one) => sharesName(path, one)) || manifests.includes(path));
    if (users.length === 0 || isNamed || !users.every(isTestPath)) return [];
    const tests = users.filter((one) => isTestFile(one, texts.get(one) ?? ""));
    const isPlain = !isCodePath(path) || !HAS_CODE.test(after ?? before);
    return tests.length === 0 ? [] : [{ path, tests, isPlain }];
  }); // Without other changed code, a module with functions is the code that the tests test.
  const isOther = ({ path }: ChangedText) =>
    isCodePath(path) && !isTestPath(path) && !found.some((one) => one.path === path);
  return changed.some(isOther) ? found : found.filter(({ isPlain }) => isPlain);
}

const HAS_CODE = /\b(?:function|def|class|func|fn|lambda|require|import)\b|=>/;

/** Code that imports a file; for data, code that names it, or else its folder. */
function usersOf(path: string, texts: ReadonlyMap<string, string>): string[] {
  const others = [...texts].filter(([one]) => one !== path);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const reading = (word: string) => {
    const quoted = new RegExp(`["'\`/]${word.replace(/[^\w]/g, "\\$&")}["'\`/]`);
    return others.flatMap(([one, text]) => (quoted.test(text) ? [one] : []));
  };
  const named = reading(name);
  if (isCodePath(path)) {
    const importing = others.flatMap(([one, text]) =>
      importsOf([path], one, text).includes(path) ? [one] : [],
    );
    return [...new Set([...importing, ...named])];
  }
  const folder = parentOf(path).split("/").at(-1) ?? "";
  return named.length > 0 || folder === "" ? named : reading(folder);
}
