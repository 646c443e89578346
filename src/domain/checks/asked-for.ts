import { isTestPath } from "./find-checks.ts";
import { type AskedFor, bareTestName } from "./verdict.ts";

/** Words that ask for tests to be fixed, in English and Japanese. */
const ASKS_FOR_GREEN: readonly RegExp[] = [
  /\b(?:failing|failed|fails?|failures?|red|broken)\b[^.\n]{0,60}\b(?:tests?|specs?|suites?|checks?|ci|builds?|pipelines?)\b/i,
  /\b(?:tests?|specs?|suites?|checks?|ci|builds?|pipelines?)\b[^.\n]{0,60}\b(?:fail(?:s|ing|ed|ure|ures)?|red|broken|breaks?|pass(?:es|ing)?|green)\b/i,
  /\b(?:fix|mend|repair|unbreak)\b[^.\n]{0,40}\b(?:tests?|specs?|suites?|ci|builds?|pipelines?)\b/i,
  /\b(?:make|get|turn)\b[^.\n]{0,60}\b(?:pass|passing|green)\b/i,
  /(?:テスト|スペック|ビルド|チェック|検証|CI)[^。\n]{0,30}(?:失敗|落ち|赤|壊れ|直|修正|通る|通し|通す|通って|成功|グリーン|パス)/,
  /(?:失敗|落ち|赤|壊れ)[^。\n]{0,20}(?:テスト|スペック|ビルド|チェック|検証|CI)/,
];

/** A test that is to fail, or that is to be written, makes no other test the coder's duty. */
const NEW_TESTS =
  /\b(?:add|write|create|include)\b[^.\n]{0,30}\b(?:tests?|specs?)\b(?:[^.\n]{0,20}\bthat\b[^.\n]{0,20}\bfails?\b)?|テストを(?:追加|書|作)/gi;
/** The tests in general, however many there are. */
const MANY =
  /\b(?:tests|specs|suites?|checks|ci|builds?|pipelines?|all|both|every|everything)\b|全|すべて|CI/i;

/** Shorter names occur in sentences that do not mean them. */
const SHORTEST_NAME = 4;

/** The tests that were red before and that a request asks to be fixed. */
export function readAskedFor(request: string): AskedFor {
  const text = request.replace(NEW_TESTS, " ");
  const isGeneral = ASKS_FOR_GREEN.some((one) => one.test(text));
  const files = testFilesIn(text);
  return {
    check: isGeneral,
    anyOne: isGeneral && !MANY.test(text),
    among(red) {
      const named = red.filter((name) => isNamed(text, name));
      if (named.length > 0) return named;
      const inFiles = red.filter((name) => files.some((path) => name.includes(path)));
      if (inFiles.length > 0) return inFiles;
      return isGeneral ? red : [];
    },
  };
}

/** A longer word is no path, and of more files than this the first count. */
const LONGEST_PATH = 300;
const MOST_FILES = 200;

function testFilesIn(text: string): string[] {
  const found = new Set<string>();
  // The words first, then the path at the beginning of each: searched for at every character, one long word costs its square.
  for (const [word] of text.matchAll(/[\w@./-]+/g)) {
    const path = word.length > LONGEST_PATH ? undefined : /^[\w@./-]+\.\w+/.exec(word)?.[0];
    if (path !== undefined && isTestPath(path)) found.add(path);
    if (found.size === MOST_FILES) break;
  }
  return [...found];
}

function isNamed(text: string, name: string): boolean {
  const bare = bareTestName(name);
  return [name, bare].some(
    (one) =>
      one.length >= SHORTEST_NAME &&
      // One plain word is a name only where it is written as code is.
      (/^[a-z]+$/i.test(one) ? text.includes(`"${one}"`) || text.includes(`\`${one}\``) : text.includes(one)),
  );
}

/** Which of these paths an output names, as tools name files: from the project's root, or from the machine's. */
export function namedPaths(output: string, paths: readonly string[]): string[] {
  return paths.filter((path) => {
    for (let at = output.indexOf(path); at >= 0; at = output.indexOf(path, at + 1)) {
      const before = output[at - 1] ?? " ";
      const after = output[at + path.length] ?? " ";
      if (!/[\w.-]/.test(before) && !/[\w-]/.test(after)) return true;
    }
    return false;
  });
}
