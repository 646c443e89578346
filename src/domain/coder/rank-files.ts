import { termsIn } from "./file-excerpts.ts";
import { type FileKind, fileKind } from "./file-kind.ts";
import { definitionsOf } from "./outline.ts";
import { stem, type Term } from "./context-request-terms.ts";

export interface FileHits {
  readonly path: string;
  /** Which terms its text holds, by their place in the list. */
  readonly terms: readonly number[];
}

export interface RankedFile {
  readonly path: string;
  readonly kind: FileKind;
  readonly score: number;
}

const KIND_FACTOR: Readonly<Record<FileKind, number>> = {
  source: 1,
  settings: 0.4,
  test: 0.4,
  docs: 0.3,
  history: 0.03,
  fixture: 0.08,
  generated: 0,
};
/** What a request asks for by its kind counts more. */
const ASKED_FACTOR = 0.6;

/** `the README`: its ending is rarely said. */
const SAID_FACTOR = 4;

function isSaid(path: string, request: string): boolean {
  const name = /^([A-Z]{4,})\.\w+$/.exec(path)?.[1];
  return name !== undefined && request.includes(name);
}

export interface Ranking {
  readonly request: string;
  readonly terms: readonly Term[];
  readonly hits: readonly FileHits[];
  /** All files that were looked at; a term of many says little. */
  readonly searched: number;
}

/** The files with hits, by how telling the terms are that they hold: source before tests before fixtures. */
export function rankFiles({ request, terms, hits, searched }: Ranking): RankedFile[] {
  const worth = worthOf(terms, hits, searched);
  const factors = factorsFor(request);
  const score = ({ path, terms: held }: FileHits): number => {
    const name = path
      .slice(path.lastIndexOf("/") + 1)
      .replace(/\..*$/, "")
      .toLowerCase();
    let sum = held.reduce((all, term) => all + (worth[term] ?? 0), 0);
    for (const term of termsIn(path, terms)) {
      const exact = terms[term]?.spellings.some((one) => stem(name) === stem(one));
      sum += (worth[term] ?? 0) * (exact === true ? 3 : 1.2);
    }
    return sum * (isSaid(path, request) ? SAID_FACTOR : 1);
  };
  return hits
    .map((hit) => {
      const kind = fileKind(hit.path);
      return { path: hit.path, kind, score: score(hit) * factors[kind] };
    })
    .filter((file) => file.score > 0)
    .sort((a, b) => b.score - a.score || a.path.length - b.path.length);
}

/** The first of them once more, by their text: what defines a term goes before what uses it. */
export function refineRanking(
  ranked: readonly RankedFile[],
  ranking: Ranking,
  textOf: (path: string) => string | null,
): RankedFile[] {
  const worth = worthOf(ranking.terms, ranking.hits, ranking.searched);
  const factors = factorsFor(ranking.request);
  return ranked
    .flatMap((file): RankedFile[] => {
      const text = textOf(file.path);
      if (text === null) return [];
      const names = definitionsOf(text.split("\n")).map(({ name }) => name);
      const defined = termsIn(names.join("\n"), ranking.terms);
      const bonus = defined.reduce((all, term) => all + (worth[term] ?? 0), 0);
      return [{ ...file, score: file.score + bonus * factors[file.kind] }];
    })
    .sort((a, b) => b.score - a.score);
}

function worthOf(terms: readonly Term[], hits: readonly FileHits[], searched: number): number[] {
  const holders = terms.map(() => 0);
  for (const { terms: held } of hits) for (const term of held) holders[term] = (holders[term] ?? 0) + 1;
  return terms.map(({ weight }, at) => weight * Math.log(1 + (searched + 1) / ((holders[at] ?? 0) + 0.5)));
}

function factorsFor(request: string): Readonly<Record<FileKind, number>> {
  return {
    ...KIND_FACTOR,
    ...(/\btests?\b|\bspecs?\b|テスト/i.test(request) && { test: ASKED_FACTOR }),
    ...(/\breadme\b|\bdocument|\bdocs?\b|ドキュメント|説明書/i.test(request) && { docs: ASKED_FACTOR }),
  };
}
