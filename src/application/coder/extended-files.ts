import { showFile } from "../../domain/coder/file-excerpts.ts";
import { fileKind, SOURCE } from "../../domain/coder/rank-files.ts";
import { lastPathName } from "../../domain/platform/ignore-rules.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import { stem, type Term, termsIn, wordsOfName } from "../../domain/platform/request-terms.ts";
import type { ProjectFiles } from "../ports/drafts.ts";

/** The input of the search for the test nearest to a change. */
export interface NearestRequest {
  readonly terms: readonly Term[];
  readonly paths: readonly string[];
  /** The code that the request is about, the likeliest first. */
  readonly sources: readonly string[];
  /** Paths that the coder sees already. */
  readonly shown: ReadonlySet<string>;
  readonly textOf: (path: string) => string | null;
  /** Characters at most. */
  readonly budget: number;
}

/** Characters of the nearest test, and of the head of a changelog. */
const NEAREST = 3_000;
const CHANGELOG_CHARS = 900;
const ASKED_CHANGELOG_CHARS = 3_500;

/** A file as the element that the coder sees. */
interface ShownElement {
  readonly path: string;
  readonly element: string;
}

/** The test nearest to the code, by its name, its imports and the request's names. Without it, coders spend a round to ask for it. */
export function showNearestTest(
  project: Pick<ProjectFiles, "find">,
  request: NearestRequest,
): ShownElement | null {
  const { terms, textOf, budget, shown } = request;
  const path = nearestTest(project, request);
  const text = path === undefined || shown.has(path) ? null : textOf(path);
  if (path === undefined || text === null) return null;
  return { path, element: showFile(path, text, { terms, ends: true, limit: Math.min(NEAREST, budget) }) };
}

const CHANGELOG = /^(?:change-?log|changes|history|news)(?:\.\w+)?$/i;
const ASKS_CHANGELOG = /\bchange-?log|\brelease notes|変更履歴/i;
/** A changelog section for unreleased changes, to which every change adds a line. */
const OPEN_SECTION =
  /^(?:#+|=+|\*+|v?\d)?.{0,30}(?:\bunreleased\b|\bunpublished\b|\b(?:in progress|not yet released|tbd|wip)\b|未リリース|^#+\s*\[?(?:main|master|head|next)\b)/imu;
const CHANGELOG_HEAD = 1_500;

export interface ChangelogRequest extends Pick<NearestRequest, "paths" | "textOf" | "budget"> {
  readonly request: string;
  readonly shown: { has(path: string): boolean };
}

/** The head of the changelog that the request asks for, or that has an open section; a changelog written at releases is not shown. */
export function showChangelog({
  request,
  paths,
  shown,
  textOf,
  budget,
}: ChangelogRequest): ShownElement | null {
  const path = paths.find((one) => CHANGELOG.test(one));
  if (path === undefined || shown.has(path)) return null;
  const isAsked = ASKS_CHANGELOG.test(request);
  const text = textOf(path);
  if (text === null || (!isAsked && !OPEN_SECTION.test(text.slice(0, CHANGELOG_HEAD)))) return null;
  const limit = Math.min(isAsked ? ASKED_CHANGELOG_CHARS : CHANGELOG_CHARS, budget);
  const lines = text.split("\n");
  let [to, left] = [0, limit];
  while (to < Math.min(lines.length, 40) && left > (lines[to] as string).length) {
    left -= (lines[to] as string).length + 1;
    to++;
  }
  const also = [{ from: 1, to: Math.max(1, to) }];
  return { path, element: showFile(path, text, { terms: [], also, limit }) };
}

/** The time limit of the search in tests, which are only a part of all files. */
const SEARCH_MS = 100;
const MOST_SEARCHED = 2_000;
const MAY_BE_TEST = /test|spec|e2e/i;
const MOST_SOURCES = 3;
/** A test with a lower score shares nothing but a word. Of a few tests none is rare: there, a name of the request is enough. */
const LEAST = 2;
const FEW = { tests: 6, least: 0.5 };

const WORTH = {
  /** By the place of the source among those that are likely to change. */
  sameName: [7, 3, 1.5],
  partOfName: [4, 2, 1],
  mentioned: [2, 1, 0.5],
  sameFolder: 0.5,
  /** A word of the request in the name of the test, as its whole name, and a name of code as its whole name. */
  called: 1.5,
  calledSo: 3,
  calledAsCode: 5,
} as const;
/** Names that say nothing about the content of a file. */
const NAMELESS = /^(?:__init__|index|main|mod|lib|setup|conftest)$/;

function nearestTest(project: Pick<ProjectFiles, "find">, request: NearestRequest): string | undefined {
  const { terms, paths } = request;
  // This pattern rules out most paths faster than their kind does.
  const tests = paths
    .filter((path) => MAY_BE_TEST.test(path) && fileKind(path) === "test" && SOURCE.test(path))
    .slice(0, MOST_SEARCHED);
  const sources = request.sources
    .map((path) => ({ path, name: stemOf(path) }))
    .filter(({ name }) => !NAMELESS.test(name))
    .slice(0, MOST_SOURCES);
  if (tests.length === 0 || sources.length === 0) return undefined;
  const names = terms.filter(({ kind }) => kind !== "word");
  const { hits } = project.find(
    tests,
    [
      ...names.map(({ spellings }) => ({ spellings, anyCase: false })),
      ...sources.map(({ name }) => ({ spellings: [name], anyCase: false })),
    ],
    SEARCH_MS,
  );
  const held = new Map(hits.map((hit) => [hit.path, hit.terms]));
  const rarity = (word: number) =>
    Math.log(1 + tests.length / (0.5 + hits.filter((hit) => hit.terms.includes(word)).length));
  const worth = [...names, ...sources].map((_, at) => rarity(at));
  const judge = (path: string) => {
    const own = stemOf(path);
    const parts = wordsOfName(own);
    const found = held.get(path) ?? [];
    const folder = lastPathName(parentOf(path));
    let [sum, beside] = [0, 0];
    for (const [at, { path: source, name }] of sources.entries()) {
      if (own === name) sum += WORTH.sameName[at] ?? 0;
      else if (
        folder === name ||
        parts.includes(name.toLowerCase()) ||
        wordsOfName(name).every((part) => parts.includes(part))
      )
        sum += WORTH.partOfName[at] ?? 0;
      if (found.includes(names.length + at)) sum += WORTH.mentioned[at] ?? 0;
      if (parentOf(source) === parentOf(path)) beside += WORTH.sameFolder;
    }
    for (const word of found)
      if (word < names.length) sum += ((names[word]?.weight ?? 0) / 3) * (worth[word] ?? 0);
    const called = termsIn(own.toLowerCase(), terms);
    const exact = called.filter((at) =>
      terms[at]?.spellings.some((one) => stem(one.toLowerCase()) === stem(own)),
    );
    const isCode = exact.some((at) => terms[at]?.kind === "identifier");
    const isSo = exact.length > 0;
    const name = isCode ? WORTH.calledAsCode : isSo ? WORTH.calledSo : called.length > 0 ? WORTH.called : 0;
    return { path, named: sum + name, score: sum + name + beside };
  };
  return tests
    .map(judge)
    .filter(({ named, score }) => (tests.length <= FEW.tests ? named >= FEW.least : score >= LEAST))
    .sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))[0]
    ?.path;
}

/** A file's name without what makes it a test of that name. */
export function stemOf(path: string): string {
  return lastPathName(path).replace(/^test_|(?:[._-](?:test|spec))?\.\w+$|_test\.\w+$/g, "");
}
