import {
  type Definition,
  definitionsOf,
  endOf,
  isAlias,
  linesOf,
  termsIn,
} from "../../domain/coder/file-excerpts.ts";
import { fileKind } from "../../domain/coder/rank-files.ts";
import type { Term } from "../../domain/coder/request-terms.ts";
import type { LineRange } from "../../domain/patch/compare-lines.ts";
import type { ProjectFiles } from "../ports/drafts.ts";

interface SourceText {
  readonly path: string;
  readonly text: string;
}

export interface RelatedRequest {
  readonly terms: readonly Term[];
  /** Sources that are shown, at least in part. */
  readonly shown: readonly SourceText[];
  /** All of the project. */
  readonly sources: readonly string[];
  readonly textOf: (path: string) => string | null;
  /** Characters of all of it. */
  readonly budget: number;
}

/** Lines between a call and the words of the request, so that the call matters. */
const NEAR = 3;
/** A line with less than this of the request says nothing about what it calls: one common word. */
const TELLING = 2;
const MOST_NAMES = 40;
const MOST_CALLERS = 2;
/** Files that are read for one name; a name that more hold is common. */
const MOST_HOLDERS = 12;
const LONGEST = 60;
const SEARCH_MS = 100;
const CALL = /(?:([\w$]+)\s*(?:\.|::|->)\s*)?([A-Za-z_$][\w$]{2,})\s*\(/g;
const KEYWORDS = new Set(
  "and assert await catch class def elif else except fn for func function if import lambda match new not or print raise require return sizeof super switch throw typeof while with".split(
    " ",
  ),
);

/**
 * Code one step away from the lines that a request is about, by path: the functions that these lines call, and one
 * that calls the function they stand in, each whole. Names that several files define are left out: nobody knows which.
 */
export function relatedCode(
  project: Pick<ProjectFiles, "find">,
  request: RelatedRequest,
): Map<string, LineRange[]> {
  const sources = request.shown.filter(({ path }) => fileKind(path) === "source").map(readSource);
  const telling = new Map(sources.map((source) => [source, tellingLines(source, request.terms)]));
  const calls = calledNames(sources, telling);
  const around = enclosingNames(sources, telling, request.terms);
  const names = [...new Set([...calls.map(({ name }) => name), ...around])];
  if (names.length === 0) return new Map();
  const holders = findHolders(project, names, request);
  const found = new Map<string, LineRange[]>();
  let left = request.budget;
  const take = (path: string, range: LineRange, lines: readonly string[]): boolean => {
    const chars = lines.slice(range.from - 1, range.to).join("\n").length;
    if (range.to - range.from >= LONGEST || chars > left) return false;
    left -= chars;
    found.set(path, [...(found.get(path) ?? []), range]);
    return true;
  };
  for (const { name, from, qualifiers } of calls) {
    const places = definingPlaces(name, holders.get(name) ?? []);
    const place =
      places.find(({ source }) => source.path === from) ??
      places.find(({ source }) => qualifiers.has(stemOf(source.path))) ??
      (new Set(places.map(({ source }) => source.path)).size === 1 ? places[0] : undefined);
    if (place !== undefined) take(place.source.path, place.range, place.source.lines);
  }
  let callers = 0;
  const known = new Set(sources.map(({ path }) => path));
  for (const name of around) {
    const all = holders.get(name) ?? [];
    // A caller that is shown already says how it is used.
    if (all.some(({ path, lines }) => known.has(path) && callsOf(name, lines).length > 0)) continue;
    for (const source of all) {
      const [line] = callsOf(name, source.lines);
      const range = line === undefined ? null : enclosing(source, line)?.range;
      if (range === null || range === undefined || callers >= MOST_CALLERS) continue;
      if (take(source.path, range, source.lines)) callers++;
    }
  }
  return found;
}

interface Source {
  readonly path: string;
  readonly lines: readonly string[];
  readonly definitions: readonly Definition[];
}

function readSource({ path, text }: SourceText): Source {
  const lines = linesOf(text);
  return { path, lines, definitions: definitionsOf(lines, path) };
}

function stemOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\..*$/, "");
}

/** The weight of each line for the request, by its place; a line with a common word alone has none. */
function tellingLines({ lines }: Source, terms: readonly Term[]): number[] {
  return lines.map((line) => {
    const weight = termsIn(line, terms).reduce((sum, term) => sum + (terms[term]?.weight ?? 0), 0);
    return weight >= TELLING ? weight : 0;
  });
}

interface CalledName {
  readonly name: string;
  readonly from: string;
  readonly qualifiers: ReadonlySet<string>;
}

/** Functions that are called near the matching lines, the nearest to the request first. */
function calledNames(
  sources: readonly Source[],
  telling: ReadonlyMap<Source, readonly number[]>,
): CalledName[] {
  const found = new Map<string, { weight: number; from: string; qualifiers: Set<string> }>();
  for (const source of sources) {
    const weights = telling.get(source) ?? [];
    const defined = new Set(source.definitions.map(({ line }) => line));
    for (const [at, line] of source.lines.entries()) {
      const near = Math.max(0, ...weights.slice(Math.max(0, at - NEAR), at + NEAR + 1));
      if (near === 0 || line.length > 400) continue;
      for (const [, qualifier, name = ""] of line.matchAll(CALL)) {
        if (KEYWORDS.has(name) || (defined.has(at + 1) && qualifier === undefined)) continue;
        const one = found.get(name) ?? { weight: 0, from: source.path, qualifiers: new Set<string>() };
        one.weight = Math.max(one.weight, near) + 0.1;
        if (qualifier !== undefined) one.qualifiers.add(qualifier);
        found.set(name, one);
      }
    }
  }
  return [...found]
    .sort(([, a], [, b]) => b.weight - a.weight)
    .slice(0, MOST_NAMES)
    .map(([name, { from, qualifiers }]) => ({ name, from, qualifiers }));
}

/** The functions around quoted messages and those that the request names. */
function enclosingNames(
  sources: readonly Source[],
  telling: ReadonlyMap<Source, readonly number[]>,
  terms: readonly Term[],
): string[] {
  const strong = terms.filter(({ kind }) => kind !== "word");
  const names = sources.flatMap((source) =>
    (telling.get(source) ?? []).flatMap((weight, at) => {
      const line = source.lines[at] ?? "";
      if (weight === 0 || termsIn(line, strong).length === 0) return [];
      const quoted = termsIn(line, strong).some((term) => strong[term]?.kind === "quote");
      const defined = source.definitions.find((one) => one.line === at + 1)?.name;
      if (quoted) return enclosing(source, at + 1)?.name ?? [];
      return strong.some(({ spellings }) => defined !== undefined && spellings.includes(defined))
        ? (defined ?? [])
        : [];
    }),
  );
  return [...new Set(names)].filter((name) => /^[\w$]{3,}$/.test(name)).slice(0, 3);
}

/** The innermost function of some length around a line. */
function enclosing(
  { lines, definitions }: Source,
  line: number,
): { readonly name: string; readonly range: LineRange } | null {
  for (let at = definitions.length - 1; at >= 0; at--) {
    const definition = definitions[at] as Definition;
    if (definition.line > line) continue;
    const to = endOf(lines, definition);
    if (to >= line && to > definition.line)
      return { name: definition.name, range: { from: definition.line, to } };
  }
  return null;
}

/** The sources that hold a name; none for one that many hold. */
function findHolders(
  project: Pick<ProjectFiles, "find">,
  names: readonly string[],
  { sources, textOf }: RelatedRequest,
): Map<string, readonly Source[]> {
  const { hits } = project.find(
    sources,
    names.map((name) => ({ spellings: [name], anyCase: false })),
    SEARCH_MS,
  );
  const read = new Map<string, Source | null>();
  const sourceOf = (path: string): Source | null => {
    const known = read.get(path);
    if (known !== undefined) return known;
    const text = textOf(path);
    const source = text === null ? null : readSource({ path, text });
    read.set(path, source);
    return source;
  };
  return new Map(
    names.map((name, at) => {
      const held = hits.filter(({ terms }) => terms.includes(at));
      return [name, held.length > MOST_HOLDERS ? [] : held.flatMap(({ path }) => sourceOf(path) ?? [])];
    }),
  );
}

function definingPlaces(
  name: string,
  holders: readonly Source[],
): { readonly source: Source; readonly range: LineRange }[] {
  return holders.flatMap((source) =>
    source.definitions
      .filter((one) => one.name === name && !isAlias(source.lines[one.line - 1] ?? ""))
      .map((one) => ({ source, range: { from: one.line, to: endOf(source.lines, one) } }))
      .filter(({ range }) => range.to > range.from),
  );
}

/** The lines that call it, without the one that defines it. */
function callsOf(name: string, lines: readonly string[]): number[] {
  return lines.flatMap((line, at) =>
    [...line.matchAll(CALL)].some((match) => match[2] === name) && !/\b(?:function|def|func|fn)\b/.test(line)
      ? [at + 1]
      : [],
  );
}
