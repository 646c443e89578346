import { type ChangedText, isCodePath, isDocumentation, isTestPath } from "../checks/path-kinds.ts";
import { compareLines } from "../patch/compare-lines.ts";
import { toLines } from "../platform/file-bytes.ts";

/** A request, a state and a judge. */
export interface HistoryCase {
  /** `commit:1a2b3c…`, `job:job_…` or, for a request that a later job fulfilled, `job:job_…+job_…`. */
  readonly id: string;
  readonly title: string;
  readonly request: string;
  /** `provider/model`, or the head, of the jobs that it was made from: the one that solved it, and the one that failed. */
  readonly producers: readonly string[];
  readonly at: string;
  /** The real change, tests included. */
  readonly files: readonly ChangedText[];
}

export type NotACase =
  | { readonly code: "no-tests" }
  | { readonly code: "no-sources" }
  | { readonly code: "no-request" }
  | { readonly code: "too-large"; readonly files: number }
  | { readonly code: "unknown-names"; readonly names: readonly string[] }
  | { readonly code: "gone" }
  | { readonly code: "changed-by-hand" }
  | { readonly code: "no-runner" }
  | { readonly code: "green-before" }
  /** The first test that fails although the change is there, and its message. */
  | { readonly code: "red-after"; readonly output: string }
  /** They need a database, another service or the network. */
  | { readonly code: "no-service"; readonly output: string }
  | { readonly code: "endless"; readonly seconds: number }
  | { readonly code: "flaky" }
  /** Nothing could be run for it now; it may be tried again. */
  | { readonly code: "cannot-run"; readonly output: string }
  | { readonly code: "dropped" }
  /** A job's change that was committed later. */
  | { readonly code: "same"; readonly id: string };

/** More is a move or a rewrite, which no request of some words describes. */
const MOST_FILES = 30;

/** Words that a request needs at least: one below names nothing that could be judged. */
const FEWEST_WORDS = 4;

export function isTestFile({ path, after }: ChangedText): boolean {
  return after !== null && isTestPath(path);
}

export const isSourcePath = (path: string) => !isTestPath(path) && !isDocumentation(path) && isCodePath(path);

/** Whether a change can be a case by the names of its files; nothing is read for it. */
export function findPathObstacle(paths: readonly string[]): NotACase | null {
  if (!paths.some(isTestPath)) return { code: "no-tests" };
  if (!paths.some(isSourcePath)) return { code: "no-sources" };
  return paths.length > MOST_FILES ? { code: "too-large", files: paths.length } : null;
}

/** Whether a change can be a case by its files and its request alone; nothing is run for it. */
export function findObstacle({ request, files }: Pick<HistoryCase, "request" | "files">): NotACase | null {
  if (!files.some(isTestFile)) return { code: "no-tests" };
  const obstacle = findPathObstacle(files.map(({ path }) => path));
  if (obstacle !== null) return obstacle;
  if (countWords(request) < FEWEST_WORDS) return { code: "no-request" };
  const names = findUnrequestedNames({ request, files });
  return names.length > 0 ? { code: "unknown-names", names } : null;
}

/** Words of letters; a run of a script without spaces counts by its length. */
function countWords(text: string): number {
  const words = text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  return words.reduce(
    (sum, word) => sum + (/[\u3040-\u30ff\u3400-\u9fff]/u.test(word) ? word.length / 2 : 1),
    0,
  );
}

/** Names and messages in code. Numbers and words of one or two letters are not names. */
export const NAME = /[\p{L}_$][\p{L}\p{N}_$]{2,}/gu;
const TEXT = /(["'`])((?:(?!\1)[^\\\n])*)\1/g;

const KEYWORDS: ReadonlySet<string> = new Set(
  "abstract and any apply assert async await bool boolean break case catch char class const continue crate debugger def default defer del delete elif else end enum except export extends extern false final finally float fn for foreach from func function global if impl implements import in instanceof int interface is lambda let loop match mod module mut namespace new nil none None not null number object of or package pass private protected pub public raise range readonly rescue return self static str string struct super switch test then this throw throws trait true True False try type typeof undefined union unsafe use using val var virtual void where while with yield".split(
    " ",
  ),
);

/** Names and messages that the change adds and its tests need, and that neither the request nor the earlier files contain. */
export function findUnrequestedNames({ request, files }: Pick<HistoryCase, "request" | "files">): string[] {
  const [needed, brought] = [true, false].map((wantsTests) =>
    files
      .filter((file) => isTestPath(file.path) === wantsTests && !isDocumentation(file.path))
      .map(addedLines)
      .join("\n"),
  ) as [string, string];
  const asked = new Set(request.match(NAME) ?? []);
  const names = new Set(withoutComments(needed).match(NAME) ?? []);
  const unrequested = new Set(
    (withoutComments(brought).match(NAME) ?? []).filter(
      (name) => names.has(name) && !asked.has(name) && !KEYWORDS.has(name),
    ),
  );
  const messages = new Set(
    [...needed.matchAll(TEXT)]
      .map(([, , text = ""]) => text)
      .filter((text) => /\S\s+\S/.test(text) && brought.includes(text) && !request.includes(text)),
  );
  for (const { before } of files) {
    if (before === null || unrequested.size + messages.size === 0) continue;
    for (const name of before.match(NAME) ?? []) unrequested.delete(name);
    for (const text of messages) if (before.includes(text)) messages.delete(text);
  }
  for (const text of messages) for (const name of text.match(NAME) ?? []) unrequested.delete(name);
  return [...unrequested, ...[...messages].map((text) => `"${text}"`)];
}

function addedLines({ before, after }: ChangedText): string {
  if (after === null) return "";
  const [old, now] = [toLines(before ?? ""), toLines(after)];
  return compareLines(old, now)
    .flatMap((change) => now.slice(...change.now))
    .join("\n");
}

/** Words of a comment are not names. */
function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\/|(?:^|\s)(?:\/\/|#|\*\s).*$/gm, "");
}

/** The entries that a change adds to a changelog, which say in words what it is for. */
export function readChangelogEntries(files: readonly ChangedText[]): string {
  return files
    .filter(({ path }) => /(?:^|\/)(?:CHANGELOG|CHANGES|HISTORY|NEWS)(?:\.\w+)?$/i.test(path))
    .map(addedLines)
    .join("\n")
    .trim();
}
