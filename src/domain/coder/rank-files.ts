import { stem, type Term, termsIn } from "../platform/request-terms.ts";

export type FileKind = "source" | "settings" | "test" | "docs" | "history" | "fixture" | "generated";

export const SOURCE =
  /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|swift|cs|php|c|h|cc|cpp|hpp|m|ex|exs|erl|scala|clj|lua|pl|dart|hs|ml|r|jl|vue|svelte|sql|sh|bash)$/i;

const GENERATED =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$|\.(?:min\.[cm]?js|min\.css|bundle\.js|map|snap|svg|csv|tsv|ndjson|lock|tsbuildinfo)$|(?:^|\/)(?:dist|build|out|coverage|vendor|third_party|generated)\//i;
const FIXTURE =
  /(?:^|\/)(?:fixtures?|__fixtures__|testdata|test-data|snapshots?|__snapshots__|golden|cassettes|recordings|_?examples?|benchmarks?)\//i;
const TEST =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|testing)\/|(?:^|[./_-])(?:test|spec|tests)\.[a-z]+$|_test\.(?:go|py|rb|exs|dart)$|(?:^|\/)test_[^/]*\.py$|(?:Test|Tests|Spec)\.(?:java|kt|cs|scala|swift|php)$/;
const HISTORY = /(?:^|\/)(?:change-?log|changes|history|news|releases?|licen[cs]e|copying|authors)[^/]*$/i;
/** Type declarations, which describe sources and are rarely changed themselves. */
const TYPINGS = /\.d\.[cm]?ts$|\.pyi$/i;
const DOCS = /\.(?:md|mdx|rst|adoc|txt)$|(?:^|\/)(?:docs?|documentation)\//i;

export function fileKind(path: string): FileKind {
  if (GENERATED.test(path)) return "generated";
  if (FIXTURE.test(path)) return "fixture";
  if (TEST.test(path)) return "test";
  if (TYPINGS.test(path)) return "docs";
  if (!SOURCE.test(path) && HISTORY.test(path)) return "history";
  if (!SOURCE.test(path) && DOCS.test(path)) return "docs";
  return SOURCE.test(path) ? "source" : "settings";
}

interface FileHits {
  readonly path: string;
  /** The terms in its text, by their index in the list. */
  readonly terms: readonly number[];
}

export interface RankedFile {
  readonly path: string;
  readonly kind: FileKind;
  readonly score: number;
  /** The terms in its text, by their index in the list. */
  readonly terms: readonly number[];
}

const KIND_FACTOR: Readonly<Record<FileKind, number>> = {
  source: 1,
  settings: 0.15,
  test: 0.4,
  docs: 0.12,
  history: 0.03,
  fixture: 0.08,
  generated: 0,
};
/** Files of a kind that a request asks for count more. */
const ASKED_FACTOR = 0.6;

export interface Ranking {
  readonly request: string;
  readonly terms: readonly Term[];
  readonly hits: readonly FileHits[];
  /** The number of files that were searched; a term in many of them has little weight. */
  readonly searched: number;
}

/** The files with hits, by the weight of their terms: sources before tests before fixtures. */
export function rankFiles(ranking: Ranking): RankedFile[] {
  const { request, terms, hits } = ranking;
  const worth = worthOf(ranking);
  const factors = factorsFor(request);
  const score = ({ path, terms: held }: FileHits): number => {
    const name = stem(nameOf(path));
    let sum = held.reduce((all, term) => all + (worth[term] ?? 0), 0);
    for (const term of termsIn(path, terms)) {
      const exact = terms[term]?.spellings.some((one) => name === stem(one.toLowerCase()));
      sum += (worth[term] ?? 0) * (exact === true ? 3 : 1.2);
    }
    return sum;
  };
  return hits
    .map((hit) => {
      const kind = fileKind(hit.path);
      return { ...hit, kind, score: score(hit) * factors[kind] };
    })
    .filter((file) => file.score > 0)
    .sort((a, b) => b.score - a.score || a.path.length - b.path.length);
}

/** Names that say nothing about the content of a file; its folder does. */
const NAMELESS = /^(?:__init__|index|main|mod|lib|setup|conftest)$/;

function nameOf(path: string): string {
  const parts = path.toLowerCase().split("/");
  const name = (parts.pop() ?? "").replace(/\..*$/, "");
  return NAMELESS.test(name) ? (parts.pop() ?? name) : name;
}

function countHolders(terms: readonly Term[], hits: readonly FileHits[]): number[] {
  const holders = terms.map(() => 0);
  for (const { terms: held } of hits) for (const term of held) holders[term] = (holders[term] ?? 0) + 1;
  return holders;
}

/** The value of each term: its weight, and how few files have it. */
export function worthOf({ terms, hits, searched }: Ranking): number[] {
  const holders = countHolders(terms, hits);
  return terms.map(({ weight }, at) => weight * Math.log(1 + (searched + 1) / ((holders[at] ?? 0) + 0.5)));
}

function factorsFor(request: string): Readonly<Record<FileKind, number>> {
  return {
    ...KIND_FACTOR,
    ...(/\btests?\b|\bspecs?\b|テスト/i.test(request) && { test: ASKED_FACTOR }),
    ...(/\breadme\b|\bdocument|\bdocs?\b|ドキュメント|説明書/i.test(request) && { docs: ASKED_FACTOR }),
  };
}

/** Characters of a request that are searched for names. */
const SEARCHED = 20_000;
const MOST_NAMED = 12;
/** A longer word is not a path. Of more possible names than this, only the first are looked up. */
const LONGEST_NAME = 300;
const MOST_READINGS = 400;

export interface NamedFile {
  readonly path: string;
  /** Line numbers after the name, as in a stack trace. */
  readonly lines: readonly number[];
}

/** A word of the message that may be a path, and the line number after it. */
interface NameReading {
  readonly name: string;
  readonly line: number | null;
}

/** Paths that the message names, whole, by their end or by their file name, in the order of the message. */
export function namedFiles(request: string, paths: readonly string[]): NamedFile[] {
  const read = readNames(request.slice(0, SEARCHED));
  const called = pathsCalled(new Set(read.map(({ name }) => name)), paths);
  const found = new Map<string, Set<number>>();
  for (const { name, line } of read)
    for (const path of called.get(name) ?? []) {
      const lines = found.get(path) ?? new Set();
      if (line !== null) lines.add(line);
      found.set(path, lines);
    }
  return [...found].slice(0, MOST_NAMED).map(([path, lines]) => ({ path, lines: [...lines] }));
}

function readNames(text: string): NameReading[] {
  const found: NameReading[] = [];
  const names = new Set<string>();
  // A word is taken whole and its end is cut off afterwards: a backtracking pattern would be quadratic.
  const words = text.matchAll(/([\p{L}\p{N}_./@[\]()+-]+)(?:(?<=[\p{L}\p{N}_)\]]):(\d{1,6}))?/gu);
  for (const [, word = "", line] of words)
    for (const name of readings(withoutEnd(word, "./@[(+-"))) {
      if (names.size === MOST_READINGS && !names.has(name)) continue;
      names.add(name);
      found.push({ name, line: line === undefined ? null : Number(line) });
    }
  return found;
}

/** The paths that each name means; none if too many paths have the name. */
function pathsCalled(names: ReadonlySet<string>, paths: readonly string[]): Map<string, readonly string[]> {
  const lastOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
  const wanted = new Map([...names].map((name): [string, string[]] => [lastOf(name), []]));
  if (wanted.size > 0) for (const path of paths) wanted.get(lastOf(path))?.push(path);
  return new Map(
    [...names].map((name) => {
      const alike = wanted.get(lastOf(name)) ?? [];
      if (alike.includes(name)) return [name, [name]];
      const end = `/${name}`;
      const ending = alike.filter((path) => path.endsWith(end));
      return [name, ending.length <= 3 ? ending : []];
    }),
  );
}

/** A token as written, and without the marks that Japanese and Markdown put around a name. */
function readings(token: string): string[] {
  const begun = token.replace(/^\((?!.*\))/, "").replace(/^\.?\//, "");
  const plain = withoutEnd(begun, ".,:;)]");
  if (!/[./]/.test(plain) && !/^[A-Z][A-Za-z]+$/.test(plain)) return [];
  const ascii = asciiPathIn(plain);
  const all = ascii === undefined || ascii === plain ? [plain] : [plain, ascii];
  return all.filter((name) => name.length <= LONGEST_NAME);
}

function asciiPathIn(text: string): string | undefined {
  for (const [word] of text.matchAll(/[\x21-\x7e]+/g)) {
    const path = /^[\x21-\x7e]+\.[A-Za-z0-9]+/.exec(word)?.[0];
    if (path !== undefined) return path;
  }
  return undefined;
}

function withoutEnd(text: string, marks: string): string {
  let end = text.length;
  while (end > 0 && marks.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
