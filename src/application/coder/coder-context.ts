import { definitionsOf, headOf, showFile, splitBudget } from "../../domain/coder/file-excerpts.ts";
import {
  type FileKind,
  fileKind,
  type NamedFile,
  namedFiles,
  type RankedFile,
  type Ranking,
  rankFiles,
  SOURCE,
  worthOf,
} from "../../domain/coder/rank-files.ts";
import { type Passage, rankPassages } from "../../domain/coder/rank-passages.ts";
import { importsOf } from "../../domain/platform/code-imports.ts";
import { lastPathName } from "../../domain/platform/ignore-rules.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import { literalTerms, requestTerms, type Term, termsIn } from "../../domain/platform/request-terms.ts";
import { type Advise, createAdvise } from "../platform/advise.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { Model } from "../ports/models.ts";
import { showChangelog, showNearestTest, stemOf } from "./extended-files.ts";

/** Characters of each kind of context. */
export interface ContextBudget {
  readonly rules: number;
  readonly map: number;
  /** For files that the request names. */
  readonly files: number;
  /** For files that were only found by a search. */
  readonly guessed: number;
  /** A project up to this is shown whole when no file is named. */
  readonly whole: number;
}

const CONTEXT = {
  cloud: { rules: 32_768, map: 3_000, files: 60_000, guessed: 60_000, whole: 24_000 },
  local: { rules: 6_000, map: 1_500, files: 16_000, guessed: 14_000, whole: 14_000 },
  small: { rules: 1_500, map: 800, files: 8_000, guessed: 3_000, whole: 3_000 },
} as const satisfies Readonly<Record<string, ContextBudget>>;

/** A window of this many tokens can hold the large budget and the work itself. */
const LARGE_WINDOW = 60_000;

/** A request to a small window: tokens at most, the share of the window, and the characters of a token of code. */
const SHORT = { tokens: 12_000, share: 1 / 3, chars: 3.5 };
/** Characters of a coder's prompt and of what precedes the files. */
const AROUND_FILES = 3_000;

/** A window in which a request is a third of it at most; a known window of a local model is one, as each token is read slowly. */
export function isShortWindow({ local, window }: Pick<Model, "local" | "window">): boolean {
  return window !== undefined && (local || window < LARGE_WINDOW);
}

/** Without room for a file and an answer about it, nothing is asked. */
export const LEAST_WINDOW = 4_000;

/** The budget depends on the model's window; an unknown window of a local model counts as small, as `ollama.max_context` is. */
export function contextBudget(
  { local, window }: Pick<Model, "local" | "window">,
  size: "full" | "small",
): ContextBudget {
  if (size === "small") return CONTEXT.small;
  if (window !== undefined && isShortWindow({ local, window })) {
    const tokens = Math.min(SHORT.tokens, window * SHORT.share);
    const chars = Math.max(0, Math.floor(tokens * SHORT.chars) - AROUND_FILES);
    // Files in question are whole before anything else is shown.
    return {
      rules: chars * 0.08,
      map: chars * 0.03,
      files: chars * 0.7,
      guessed: chars * 0.12,
      whole: chars * 0.8,
    };
  }
  return local ? CONTEXT.local : CONTEXT.cloud;
}

/** The most characters of a file that are read. */
export const LONGEST_FILE = 2_000_000;

interface ShownText {
  readonly path: string;
  readonly text: string;
}

export interface RecentFile {
  readonly path: string;
  /** The first line of each change, as the job left the file. */
  readonly lines: readonly number[];
}

/** The record that the steps of one context read and extend. */
interface Gathering {
  readonly project: ProjectFiles;
  readonly request: string;
  readonly terms: readonly Term[];
  readonly paths: readonly string[];
  readonly named: readonly NamedFile[];
  readonly recent: readonly RecentFile[];
  readonly budget: ContextBudget;
  readonly textOf: (path: string) => string | null;
  /** Files as elements, by path, in the order in which they are shown. */
  readonly shown: Map<string, string>;
  /** The project is shown whole: only rules follow. */
  isWhole: boolean;
  /** Texts that are shown because the message names them or their tests, and because the conversation changed them. */
  called: readonly NamedText[];
  changed: readonly NamedText[];
  /** Texts that precede the files. */
  rules: readonly string[];
  map: string;
  /** Names of likely functions that are not shown, after the files. */
  others: string;
  readonly onRules: ContextRequest["onRules"];
}

interface NamedText extends ShownText {
  readonly lines: readonly number[];
}

/** One step that may show something within the budget of a context. Deleting its line in the list drops it. */
export interface ContextStep {
  readonly name: string;
  /** It is taken although the project is shown whole. */
  readonly isForWhole?: true;
  readonly take: (gathering: Gathering) => void;
}

const OVERVIEW_STEPS: readonly ContextStep[] = [
  { name: "rules of the project", take: takeRules, isForWhole: true },
  { name: "map of the project", take: takeMap },
];

/** The order matters: each step sees what those before it show. */
export const CONTEXT_STEPS: readonly ContextStep[] = [
  { name: "the whole of a small project", take: takeWholeProject },
  { name: "files that the conversation changed", take: takeRecentFiles },
  { name: "files that the message names", take: takeNamedFiles },
  { name: "sources of named tests", take: takeTestedSources },
  { name: "files that the words lead to", take: takeByWords },
  { name: "the largest sources, where no word leads anywhere", take: takeLargest },
  { name: "the nearest test", take: takeNearestTest },
  { name: "the open section of a changelog", take: takeChangelog },
  ...OVERVIEW_STEPS,
];

/** The time limit of the search for words: about 50,000 files on an idle machine. */
const SEARCH_MS = 250;
/** Sources of which the passages are ranked. */
const RANKED_SOURCES = 30;
/** Characters of passages; of a file from which less than a share is left out, all is shown. */
const SOURCES = 26_000;
const MOST_SOURCES = 5;
const PASSAGE = 60;
const SHORT_REST = 600;
/** The import header of a file is shown with its passages, if it is not longer. */
const HEADER = 1_500;
/** Of each other kind: files and characters. */
const MOST: Readonly<Partial<Record<FileKind, { readonly files: number; readonly chars: number }>>> = {
  docs: { files: 1, chars: 2_500 },
  settings: { files: 1, chars: 1_500 },
  fixture: { files: 1, chars: 1_000 },
};
/** Characters for the names of functions that come next in the ranking. */
const OTHERS = 1_500;
/** Share of the best score below which a passage or a file is noise. */
const WORTH_SHOWING = 0.3;
/** The same for passages of other files than the likeliest. */
const WORTH_OTHER = 0.45;
/** Characters for names that the shown files do not contain. */
const LOOKED_UP = 4_000;
const BESIDE_CHANGED = 10_000;
/** A follow-up message refers to the last change without naming it. */
const REFERS = /\b(?:it|its|them|they)\b|それ|これ|その|さっき|先ほど/i;

/** Characters for files that only words of the request lead to. */
function guessBudget(gathering: Gathering): number {
  const { called, request, budget } = gathering;
  const guessed = budget.guessed - besides(gathering);
  if (isNamed(called)) return Math.min(guessed, LOOKED_UP);
  if (!continuesLastChange(gathering)) return guessed;
  return Math.min(guessed, REFERS.test(request) ? LOOKED_UP : BESIDE_CHANGED);
}

/** The places that the words of a request lead to: whole functions of the likeliest sources, and parts of other files. */
function takeByWords(gathering: Gathering): void {
  const terms = termsLeft(gathering);
  if (terms.length === 0) return;
  const { textOf, shown } = gathering;
  const budget = guessBudget(gathering);
  const ranking = searchTerms(gathering, terms);
  const ranked = rankFiles(ranking);
  const sources = ranked.filter(({ kind }) => kind === "source").slice(0, RANKED_SOURCES);
  const passages = rankPassages(
    sources.flatMap((file) => {
      const text = textOf(file.path);
      return text === null ? [] : [{ ...file, text }];
    }),
    terms,
    worthOf(ranking),
  );
  const best = choosePassages(passages, Math.min(SOURCES, budget * 0.75));
  for (const [path, chosen] of best) shown.set(path, showPassages(path, textOf(path) ?? "", chosen));
  gathering.others = wordOthers(
    passages.filter((one) => best.get(one.path)?.includes(one) !== true),
    Math.min(OTHERS, budget / 20),
  );
  const likeliest = (sources[0] ?? ranked[0])?.score ?? 0;
  const counts = new Map<FileKind, number>();
  for (const { path, kind, score } of ranked) {
    const most = MOST[kind];
    const before = counts.get(kind) ?? 0;
    counts.set(kind, before + 1);
    const text =
      most === undefined || before >= most.files || score < likeliest * WORTH_SHOWING ? null : textOf(path);
    if (most !== undefined && text !== null)
      shown.set(path, showFile(path, text, { terms, limit: Math.floor(Math.min(most.chars, budget / 6)) }));
  }
}

/** The best passages that fit, file by file; the file with the best one first. */
function choosePassages(passages: readonly Passage[], budget: number): Map<string, Passage[]> {
  const chosen = new Map<string, Passage[]>();
  const [best] = passages;
  let left = budget;
  // A quoted message says where it is decided, whatever else its function lacks.
  for (const passage of [...passages.filter(({ quoted }) => quoted), ...passages]) {
    const { path, score, quoted } = passage;
    const share = score / (best?.score ?? 1);
    const cost = passage.chars + PASSAGE;
    const known = chosen.get(path);
    // The rest of the likeliest file is worth more than another file.
    const isWorth = quoted || share >= (path === best?.path ? WORTH_SHOWING : WORTH_OTHER);
    if (!isWorth || cost > left || known?.includes(passage)) continue;
    if (known === undefined && chosen.size >= MOST_SOURCES) continue;
    left -= cost;
    chosen.set(passage.path, [...(chosen.get(passage.path) ?? []), passage]);
  }
  return chosen;
}

/** Functions that come next in the ranking, file by file, with their lines: the coder need not search for them. */
function wordOthers(passages: readonly Passage[], limit: number): string {
  const named = new Map<string, string[]>();
  let left = limit;
  for (const { path, name, from, to } of passages) {
    if (name === "") continue;
    const word = `${name} ${from}-${to}`;
    left -= word.length + 2 + (named.has(path) ? 0 : path.length + 2);
    if (left < 0) break;
    named.set(path, [...(named.get(path) ?? []), word]);
  }
  const lines = [...named].map(([path, words]) => `${path}: ${words.join(", ")}`);
  return lines.length === 0 ? "" : `Not shown, perhaps about it too:\n${lines.join("\n")}`;
}

/** Passages with the imports of their file; the whole file if little is left out. */
function showPassages(path: string, text: string, passages: readonly Passage[]): string {
  const lines = text.split("\n");
  const head = headOf(lines);
  const header = lines.slice(head.from - 1, head.to).join("\n").length;
  const chars = passages.reduce((sum, one) => sum + one.chars, 0) + (header <= HEADER ? header : 0);
  if (text.length - chars <= SHORT_REST) return showFile(path, text, { terms: [], limit: text.length });
  const also = [...passages, ...(header <= HEADER ? [head] : [])];
  return showFile(path, text, { terms: [], also, limit: Math.min(text.length - 1, chars + SHORT_REST) });
}

/** How many sources are measured; how many of the largest are read, and shown. */
const MEASURED = 200;
const TRIED = 12;
const MOST_LARGEST = 3;

/** Most changes are in the largest sources: if the message leads to no file, the coder starts from these. */
function takeLargest(gathering: Gathering): void {
  const { project, shown, paths, terms, called, changed } = gathering;
  if (shown.size + called.length + changed.length > 0) return;
  const bySize = paths
    .filter((path) => SOURCE.test(path) && fileKind(path) === "source")
    .slice(0, MEASURED)
    .map((path) => ({ path, lines: [], size: project.sizeOf(path) }))
    .sort((a, b) => b.size - a.size);
  const largest: NamedText[] = [];
  // A binary file is not shown: the coder would take it for an empty one.
  for (const file of bySize.slice(0, TRIED))
    if (largest.length < MOST_LARGEST) largest.push(...readNamed(gathering, file));
  const budget = Math.min(SOURCES, guessBudget(gathering));
  for (const [path, element] of showShared(largest, { terms, budget, fill: true })) shown.set(path, element);
}

function searchTerms(
  { project, request, paths, called, changed }: Gathering,
  terms: readonly Term[],
): Ranking {
  const files = paths.map((path) => ({ path, kind: fileKind(path) }));
  const known = new Set([...called, ...changed].map(({ path }) => path));
  const { hits, searched } = project.find(
    byPlausibility(files, terms).filter((path) => !known.has(path)),
    terms.map(({ kind, spellings }) => ({ spellings, anyCase: kind === "word" })),
    SEARCH_MS,
  );
  return { request, terms, hits, searched };
}

/** Whether the request names a file of code; then only terms that the named files do not contain are searched for. */
function isNamed(called: readonly ShownText[]): boolean {
  return called.some(({ path }) => ["source", "settings"].includes(fileKind(path)));
}

/** Whether the message continues the conversation's last change: the changed files contain every name in it. */
function continuesLastChange({ terms, changed }: Gathering): boolean {
  const held = new Set(changed.flatMap(({ text }) => termsIn(text, terms)));
  return changed.length > 0 && terms.every(({ kind }, at) => kind === "word" || held.has(at));
}

function termsLeft({ terms, called, changed }: Gathering): readonly Term[] {
  if (!isNamed(called)) return terms;
  const held = new Set([...called, ...changed].flatMap(({ text }) => termsIn(text, terms)));
  return terms.filter(({ kind }, at) => kind === "identifier" && !held.has(at));
}

/** The order of the search, which may run out of time: paths with words of the request first, then sources, then the rest. */
function byPlausibility(
  files: readonly Pick<RankedFile, "path" | "kind">[],
  terms: readonly Term[],
): string[] {
  return inOrderOf(
    files.filter(({ kind }) => kind !== "generated"),
    ({ path, kind }) =>
      termsIn(path, terms).length * 2 + (kind === "source" ? 3 : kind === "test" || kind === "docs" ? 1 : 0),
  ).map(({ path }) => path);
}

/** The highest rank first; items of one rank keep their order. Sorts the few ranks, not the many items. */
function inOrderOf<Item>(items: readonly Item[], rankOf: (item: Item) => number): Item[] {
  return [...Map.groupBy(items, rankOf)].sort(([a], [b]) => b - a).flatMap(([, alike]) => alike);
}

interface Showing {
  readonly terms: readonly Term[];
  readonly budget: number;
}

const RULE_FILES = ["AGENTS.md", "CLAUDE.md"];

/** A file of project rules that does not fit whole. */
export interface CutRules {
  readonly path: string;
  /** Characters that are shown; 0: none. */
  readonly shown: number;
  readonly of: number;
}

/** A shorter beginning is not worth showing. */
const LEAST_SHOWN = 200;

/** The rules of the root and of every folder on the way to a shown file, one file a folder. A rule that does not fit is cut at a line. */
function readProjectRules(project: Pick<ProjectFiles, "read">, shown: readonly string[], limit: number) {
  const rules: { path: string; text: string }[] = [];
  const cut: CutRules[] = [];
  let left = limit;
  for (const folder of foldersOf(shown)) {
    const [first, ...others] = RULE_FILES.map((name) => {
      const path = `${folder}${name}`;
      return { path, text: withoutImports(project.read(path, LONGEST_FILE)?.text ?? "") };
    }).filter(({ text }) => text !== "");
    if (first === undefined) continue;
    const { path, text } = first;
    const part = text.length <= left ? text : beginningOf(text, left);
    left -= part.length;
    if (part !== text) cut.push({ path, shown: part.length, of: text.length });
    const beside = others.filter((other) => other.text !== text).map((other) => other.path);
    const notes = [
      ...(part === text ? [] : [wordRest(path, text, part)]),
      ...(beside.length === 0 ? [] : [`(Not shown beside it: ${beside.join(", ")})`]),
    ];
    rules.push({ path, text: [part, ...notes].filter((one) => one !== "").join("\n") });
  }
  return { rules, cut };
}

/** A file that only names the other one, as `@AGENTS.md`, adds nothing. */
function withoutImports(text: string): string {
  return text.replace(/^@(?:\.\/)?(?:AGENTS|CLAUDE)\.md[ \t]*$/gim, "").trim();
}

/** Whole lines; nothing where too few would fit. */
function beginningOf(text: string, limit: number): string {
  if (limit < LEAST_SHOWN) return "";
  const end = text.lastIndexOf("\n", limit);
  return text.slice(0, end > 0 ? end : limit).toWellFormed();
}

function wordRest(path: string, text: string, part: string): string {
  const line = part === "" ? 1 : part.split("\n").length + 1;
  const what = part === "" ? "Not shown" : "The rest is not shown";
  return `(${what}: ${text.length - part.length} of ${text.length} characters. Read it where it matters: ${path}:${line}-)`;
}

function wordRules({ path, text }: { readonly path: string; readonly text: string }): string {
  return `Project rules (${path}):\n${text}`;
}

const RULES_ON_THE_WAY = 8_000;

/** The rules for a file that a coder reads later, without rules that it has seen; empty if there are none. */
export function rulesOnTheWay(project: Pick<ProjectFiles, "read">, path: string, seen: Set<string>): string {
  const { rules } = readProjectRules(project, [path], RULES_ON_THE_WAY);
  const fresh = rules.filter((one) => one.path !== path && !seen.has(one.path));
  for (const one of fresh) seen.add(one.path);
  return fresh.map(wordRules).join("\n\n");
}

/** Each ends with a slash; the root is empty. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set([""]);
  for (const path of paths)
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1))
      folders.add(path.slice(0, slash + 1));
  return [...folders].sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1));
}

/** The share of a tree for the files of near folders, and characters of one. */
const NEAR = { share: 0.6, chars: 700 };

/** The files below a folder, one line per folder; if not all fit, those of near folders, then folders with the number of their files. */
export function folderTree(
  paths: readonly string[],
  under: string,
  limit: number,
  near: ReadonlySet<string> = new Set(),
): string {
  const top = under.replace(/^\.?\/|\/$/g, "").replace(/^\.$/, "");
  const below = paths.filter((path) => top === "" || path.startsWith(`${top}/`));
  if (below.length === 0) return paths.includes(top) ? `${top} is a file` : `there is no folder ${top}`;
  const folders = Map.groupBy(below, parentOf);
  const word = ([folder, files]: readonly [string, readonly string[]]) =>
    `${folder || "."}/ ${files.map(lastPathName).join(" ")}`;
  const whole = [...folders].map(word);
  if (whole.join("\n").length <= limit) return whole.join("\n");
  const lines: string[] = [];
  let left = limit * NEAR.share;
  for (const folder of near) {
    const line = word([folder, folders.get(folder) ?? []]);
    const cut = line.length <= NEAR.chars ? line : `${line.slice(0, line.lastIndexOf(" ", NEAR.chars))} …`;
    left -= cut.length + 1;
    if (!folders.has(folder) || left < 0) continue;
    lines.push(cut);
    folders.delete(folder);
  }
  const rest = limit - lines.join("\n").length;
  return [...lines, foldFolders([...folders.values()].flat(), top, rest)].join("\n");
}

const DEEPEST = 8;

/** Folders with the number of files in and below them, as deep as fits. */
function foldFolders(paths: readonly string[], top: string, limit: number): string {
  const base = top === "" ? 0 : top.split("/").length;
  for (let depth = DEEPEST; ; depth--) {
    const folders = Map.groupBy(paths, (path) =>
      parentOf(path)
        .split("/")
        .slice(0, base + depth)
        .join("/"),
    );
    const lines = [...folders].map(([folder, { length }]) => `${folder || "."}/ (${length} files)`);
    if (lines.join("\n").length <= limit) return lines.join("\n");
    if (depth === 1) {
      const shown = Math.max(1, Math.floor(limit / 40));
      return [...lines.slice(0, shown), `… and ${folders.size - shown} more folders`].join("\n");
    }
  }
}

export interface ContextRequest {
  readonly request: string;
  /** Files that the conversation changed or meant to, with the lines: always shown first. */
  readonly recent?: readonly RecentFile[];
  readonly budget: ContextBudget;
  /** Default: without a log. */
  readonly advise?: Advise;
  /** Default: all of them, in their order. */
  readonly steps?: readonly ContextStep[];
  /** Receives the paths of the rules, and those that did not fit whole. */
  readonly onRules?: (paths: readonly string[], cut: readonly CutRules[]) => void;
}

const MOST_LISTED = 20_000;
/** Characters around each shown file: its element and its path. */
const AROUND_FILE = 30;
const MOST_WHOLE = 200;

/** The paths among these that a message names. */
export function pathsNamedIn(request: string, paths: readonly string[]): string[] {
  return namedFiles(request, paths).map(({ path }) => path);
}

/** The context that a coder sees before the request: rules and a map, which rarely change, then files. Cut and omitted parts are stated. */
export function coderContext(project: ProjectFiles, context: ContextRequest): string {
  const { request, recent = [], budget, onRules, advise = createAdvise(), steps = CONTEXT_STEPS } = context;
  const paths = project.list(MOST_LISTED);
  const gathering: Gathering = {
    project,
    request,
    terms: requestTerms(request),
    paths,
    named: namedFiles(request, paths),
    recent,
    budget,
    textOf: rememberTexts(project),
    shown: new Map(),
    isWhole: false,
    called: [],
    changed: [],
    rules: [],
    map: "",
    others: "",
    onRules,
  };
  for (const { name, take, isForWhole } of steps)
    if (!gathering.isWhole || isForWhole === true) advise(name, undefined, () => take(gathering));
  const { rules, map, others, isWhole, shown } = gathering;
  return [
    ...rules,
    ...(map === "" ? [] : [`Files of the workspace:\n${map}`]),
    ...(isWhole ? ["All files of the workspace:"] : []),
    ...shown.values(),
    ...(others === "" ? [] : [others]),
  ].join("\n\n");
}

/** Rules and a map, for questions about the project. It does not depend on the question, so a provider can cache it. */
export function projectOverview(project: ProjectFiles, budget: Pick<ContextBudget, "rules" | "map">): string {
  const only = { files: 0, guessed: 0, whole: 0, ...budget };
  return coderContext(project, { request: "", budget: only, steps: OVERVIEW_STEPS });
}

/** Each file is read once for all steps. */
function rememberTexts(project: Pick<ProjectFiles, "read">): (path: string) => string | null {
  const texts = new Map<string, string | null>();
  return (path) => {
    const known = texts.get(path);
    if (known !== undefined) return known;
    const text = project.read(path, LONGEST_FILE)?.text ?? null;
    texts.set(path, text);
    return text;
  };
}

function takeRules(gathering: Gathering): void {
  const { project, shown, budget, onRules } = gathering;
  const { rules, cut } = readProjectRules(project, [...shown.keys()], budget.rules);
  onRules?.(
    rules.map(({ path }) => path),
    cut,
  );
  for (const { path } of rules) shown.delete(path);
  gathering.rules = rules.map(wordRules);
}

function takeMap(gathering: Gathering): void {
  const { paths, budget, shown, called } = gathering;
  if (paths.length === 0) return;
  const near = new Set([...shown.keys(), ...called.map(({ path }) => path)].map(parentOf));
  gathering.map = folderTree(paths, "", budget.map, near);
}

/** Whether a request names files other than tests; one that names only tests usually wants other files changed. */
function namesCode(named: readonly NamedFile[]): boolean {
  return named.some(({ path }) => fileKind(path) !== "test");
}

/** Shows every file, if all fit and the message names no code. */
function takeWholeProject(gathering: Gathering): void {
  const { project, paths, named, budget } = gathering;
  if (namesCode(named)) return;
  const wanted: string[] = [];
  for (const path of paths) {
    if (fileKind(path) !== "generated") wanted.push(path);
    if (wanted.length > MOST_WHOLE) return;
  }
  const shown = new Map<string, string>();
  let left = budget.whole;
  for (const path of wanted) {
    const file = project.read(path, left);
    if (file === null) continue;
    left -= file.text.length + path.length + AROUND_FILE;
    if (file.cut || left < 0) return;
    shown.set(path, showFile(path, file.text, { terms: [], limit: Number.MAX_SAFE_INTEGER }));
  }
  if (wanted.length === 0) return;
  for (const [path, element] of shown) gathering.shown.set(path, element);
  gathering.isWhole = true;
}

/** Characters of recent files that the request does not name: more than the changed lines is rarely needed. */
const RECENT = 16_000;

function readNamed({ textOf }: Gathering, { path, lines }: NamedFile): NamedText[] {
  const text = textOf(path);
  return text === null ? [] : [{ path, lines, text }];
}

function takeRecentFiles(gathering: Gathering): void {
  const { recent, named, terms, budget, shown } = gathering;
  gathering.changed = recent
    .filter(({ path }) => !named.some((one) => one.path === path))
    .flatMap((one) => readNamed(gathering, one));
  const limits = { terms, budget: Math.min(RECENT, budget.files / 2), fill: false };
  for (const [path, element] of showShared(gathering.changed, limits)) shown.set(path, element);
}

function takeNamedFiles(gathering: Gathering): void {
  const { recent, named, request, terms, budget, shown } = gathering;
  const called = named.flatMap(({ path, lines }) => {
    const known = recent.find((one) => one.path === path)?.lines ?? [];
    return readNamed(gathering, { path, lines: [...lines, ...known] });
  });
  gathering.called = called;
  const code = called.filter((file) => !isLongData(file, request));
  for (const [path, element] of showShared(code, { terms, budget: budget.files, fill: true }))
    shown.set(path, element);
  for (const file of called)
    if (isLongData(file, request)) shown.set(file.path, showData(file, request, terms, budget));
}

/** A request that names only tests is about the sources that they test. */
function takeTestedSources(gathering: Gathering): void {
  const { named, called, paths, terms, budget, shown } = gathering;
  if (namesCode(named)) return;
  const sources = [...new Set(called.flatMap((test) => testedSources(paths, test)))]
    .filter((path) => !shown.has(path))
    .slice(0, MOST_TESTED)
    .flatMap((path) => readNamed(gathering, { path, lines: [] }));
  for (const [path, element] of showShared(sources, { terms, budget: budget.guessed / 2, fill: true }))
    shown.set(path, element);
  gathering.called = [...called, ...sources];
}

/** Characters for files other than those that a change is about. */
function besides({ budget }: Gathering): number {
  return Math.min(BESIDE, budget.guessed / 4);
}

function takeNearestTest(gathering: Gathering): void {
  const { project, terms, paths, named, called, changed, shown, textOf } = gathering;
  if (named.some(({ path }) => fileKind(path) === "test")) return;
  const code = [...called.map(({ path }) => path), ...shown.keys(), ...changed.map(({ path }) => path)];
  const test = showNearestTest(project, {
    terms,
    paths,
    sources: [...new Set(code)].filter((path) => fileKind(path) === "source" && SOURCE.test(path)),
    shown: new Set(shown.keys()),
    textOf,
    budget: besides(gathering),
  });
  if (test !== null) shown.set(test.path, test.element);
}

function takeChangelog(gathering: Gathering): void {
  const { request, paths, shown, textOf } = gathering;
  const changelog = showChangelog({ request, paths, shown, textOf, budget: besides(gathering) });
  if (changelog !== null) shown.set(changelog.path, changelog.element);
}

/** Characters of an additional test or changelog. */
const BESIDE = 3_500;

const MOST_TESTED = 4;

/** The sources that a test is about: those with its name, and those that it imports. */
function testedSources(paths: readonly string[], { path: test, text }: ShownText): string[] {
  const sources = paths.filter((path) => fileKind(path) === "source" && SOURCE.test(path));
  const known = new Set(sources);
  return [
    ...sources.filter((path) => stemOf(path) === stemOf(test)),
    ...importsOf(paths, test, text).filter((path) => known.has(path)),
  ];
}

/** Characters from which a file of data, of prose, and a source without functions is shown in parts. */
const LONG_DATA = { data: 8_000, docs: 16_000, source: 16_000 };
const DATA_CHARS = 4_000;
/** Of a changelog its open section is shown. */
const CHANGELOG_LINES = 40;
const CHANGELOG_CHARS = 2_000;
/** A source with more characters per definition than this is a table. */
const TABLE = 4_000;
/** A file of long lines cannot be edited by parts. */
const LONG_LINES = 400;
/** The request is about all of a file; of data also if it says so in general words, which a request about prose uses of other things. */
const ABOUT_ALL =
  /\b(?:translat|sort|reformat|rewrit|convert|regenerat|alphabeti|deduplicat)|翻訳|並べ替え|ソート|整形|統一|書き直/i;
const ABOUT_EACH = /\b(?:every|all|each|whole|entire)\b|全(?:部|体|て)|すべて/i;
/** A named document from which a long request is about a section only. */
const LONG_REQUEST = 400;

/** Whether a named file is a long changelog, table or document: the message is about one place in it, and it would fill the context. */
function isLongData({ path, text }: ShownText, request: string): boolean {
  const kind = fileKind(path);
  const isProse = (kind === "docs" || kind === "history") && request.length > LONG_REQUEST;
  if (kind === "test" || ABOUT_ALL.test(request) || (!isProse && ABOUT_EACH.test(request))) return false;
  if (isProse) return text.length > LONG_DATA.data;
  if (text.length <= LONG_DATA[kind === "docs" || kind === "source" ? kind : "data"]) return false;
  const lines = text.split("\n");
  if (text.length / lines.length > LONG_LINES) return false;
  return kind !== "source" || definitionsOf(lines, path).length * TABLE < text.length;
}

/** The head, the end, and the places of the request's literals; the coder can ask for the rest. */
function showData(
  { path, text, lines }: NamedText,
  request: string,
  terms: readonly Term[],
  budget: ContextBudget,
): string {
  const literals = literalTerms(request);
  const held = termsIn(text, literals).map((at) => literals[at] as Term);
  if (fileKind(path) === "history") {
    const also = [
      { from: 1, to: CHANGELOG_LINES },
      ...lines.map((line) => ({ from: line - 5, to: line + 5 })),
    ];
    return showFile(path, text, { terms: held, also, limit: Math.min(CHANGELOG_CHARS, budget.files) });
  }
  return showFile(path, text, {
    terms: held.length > 0 ? held : terms,
    limit: Math.min(DATA_CHARS, budget.files),
    focus: lines,
    ends: true,
  });
}

/** Texts that share a budget: whole where they are short, else around the lines and terms that matter. */
function showShared(
  files: readonly NamedText[],
  { terms, budget, fill }: Showing & { readonly fill: boolean },
): [string, string][] {
  const shares = splitBudget(
    files.map(({ text }) => text.length),
    budget,
  );
  return files.map(({ path, lines, text }, at) => [
    path,
    // A coder that adds a test needs the imports at the beginning, and the end.
    showFile(path, text, {
      terms,
      limit: shares[at] ?? 0,
      focus: lines,
      fill,
      ends: fileKind(path) === "test",
    }),
  ]);
}
