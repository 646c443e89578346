import { termsIn } from "../../domain/coder/file-excerpts.ts";
import { fileKind } from "../../domain/coder/file-kind.ts";
import { type RankedFile, rankFiles, refineRanking } from "../../domain/coder/rank-files.ts";
import type { Term } from "../../domain/coder/context-request-terms.ts";
import { showFile } from "../../domain/coder/show-file.ts";
import { splitBudget } from "../../domain/coder/split-budget.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import { LONGEST_FILE } from "./budget.ts";

export interface GuessRequest {
  readonly request: string;
  readonly terms: readonly Term[];
  readonly paths: readonly string[];
  /** What is shown already. */
  readonly asked: readonly { readonly path: string; readonly text: string }[];
  readonly budget: number;
}

/** The search for words ends then, whatever is left: some 50,000 files on an idle machine. */
const SEARCH_MS = 250;
/** Files whose text is looked at again, line by line. */
const REFINED = 24;
const MOST = {
  likely: { files: 3, chars: 17_000 },
  source: { files: 3, chars: 3_500 },
  test: { files: 1, chars: 3_500 },
  docs: { files: 1, chars: 2_500 },
  settings: { files: 1, chars: 1_500 },
  history: { files: 0, chars: 0 },
  fixture: { files: 1, chars: 1_000 },
  generated: { files: 0, chars: 0 },
};
/** Of the best source's score: below that a file is noise. A test shows how things are meant with less. */
const WORTH_SHOWING = 0.3;
const WORTH_AS_TEST = 0.1;
const LIKELY = 0.6;
/** What the figures of `MOST` are meant for. */
const FULL_BUDGET = 30_000;
const NEARLY = 1.2;
/** For names that the shown files do not hold. */
const LOOKED_UP = 4_000;

/** Files that the words of a request lead to, best first, by path: whole where they are short, else excerpts. */
export function guessFiles(
  project: Pick<ProjectFiles, "find" | "read">,
  guess: GuessRequest,
): Map<string, string> {
  const { request, asked } = guess;
  const terms = termsLeft(guess);
  if (terms.length === 0) return new Map();
  const known = new Set(asked.map(({ path }) => path));
  const paths = byPlausibility(guess.paths, terms).filter((path) => !known.has(path));
  const { hits, searched } = project.find(
    paths,
    terms.map(({ kind, spellings }) => ({ spellings, anyCase: kind === "word" })),
    SEARCH_MS,
  );
  const texts = new Map<string, string | null>();
  const textOf = (path: string): string | null => {
    const text = texts.get(path) ?? project.read(path, LONGEST_FILE)?.text ?? null;
    texts.set(path, text);
    return text;
  };
  const ranking = { request, terms, hits, searched };
  const ranked = refineRanking(rankFiles(ranking).slice(0, REFINED), ranking, textOf);
  const budget = isNamed(asked) ? Math.min(guess.budget, LOOKED_UP) : guess.budget;
  return showBest(ranked, { terms, textOf, budget });
}

/** A file of the program that somebody named: what it does not hold is all that is looked for. */
function isNamed(asked: GuessRequest["asked"]): boolean {
  return asked.some(({ path }) => ["source", "test", "settings"].includes(fileKind(path)));
}

function termsLeft({ terms, asked }: GuessRequest): readonly Term[] {
  if (!isNamed(asked)) return terms;
  const held = new Set(asked.flatMap(({ text }) => termsIn(text, terms)));
  return terms.filter(({ kind }, at) => kind === "identifier" && !held.has(at));
}

/** What is read first, should the time not suffice for all: paths that share words, then sources, then the rest. */
export function byPlausibility(paths: readonly string[], terms: readonly Term[]): string[] {
  const rank = (path: string): number => {
    const kind = fileKind(path);
    if (kind === "generated") return -1;
    const shared = termsIn(path, terms).length;
    return shared * 2 + (kind === "source" ? 3 : kind === "test" || kind === "docs" ? 1 : 0);
  };
  return paths
    .map((path) => ({ path, rank: rank(path) }))
    .filter((one) => one.rank >= 0)
    .sort((a, b) => b.rank - a.rank)
    .map(({ path }) => path);
}

interface Showing {
  readonly terms: readonly Term[];
  readonly textOf: (path: string) => string | null;
  readonly budget: number;
}

/** The budget is split over what is worth showing: who is short leaves the rest to the long ones. */
function showBest(ranked: readonly RankedFile[], { terms, textOf, budget }: Showing): Map<string, string> {
  const picked = pick(ranked, budget).flatMap(({ path, kind, limit }) => {
    const text = textOf(path);
    return text === null ? [] : [{ path, kind, text, wish: Math.min(limit, text.length) }];
  });
  const shares = splitBudget(
    picked.map(({ wish }) => wish),
    budget,
  );
  return new Map(
    picked.map(({ path, kind, text }, at) => {
      const share = shares[at] ?? 0;
      // A few lines more are cheaper than a request for them.
      const limit = text.length <= share * NEARLY ? text.length : share;
      return [path, showFile(path, text, { terms, limit, ends: kind === "test" })];
    }),
  );
}

interface Picked extends RankedFile {
  /** Characters at most. */
  readonly limit: number;
}

/** Sources that score nearly as the best are likely to change; of the others, and of one of each kind, excerpts tell enough. */
function pick(ranked: readonly RankedFile[], budget: number): Picked[] {
  const best = (ranked.find(({ kind }) => kind === "source") ?? ranked[0])?.score ?? 0;
  const counts = {
    likely: 0,
    source: 0,
    settings: 0,
    test: 0,
    docs: 0,
    history: 0,
    fixture: 0,
    generated: 0,
  };
  const picked: Picked[] = [];
  for (const file of ranked) {
    if (file.score < best * (file.kind === "test" ? WORTH_AS_TEST : WORTH_SHOWING)) continue;
    const group = file.kind === "source" && file.score >= best * LIKELY ? "likely" : file.kind;
    // Of a small budget, what is likely to change has its share first.
    const share = group === "likely" ? 1 : Math.min(1, budget / FULL_BUDGET);
    if (counts[group]++ >= Math.round(MOST[group].files * Math.max(share, 0.5))) continue;
    picked.push({ ...file, limit: Math.floor(MOST[group].chars * share) });
  }
  return picked;
}
