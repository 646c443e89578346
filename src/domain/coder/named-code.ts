import type { ChangedText } from "../checks/path-kinds.ts";
import { compareLines } from "../patch/compare-lines.ts";
import type { FileSource } from "../patch/patch-command.ts";
import { attemptOr } from "../platform/error-text.ts";
import { type CodeMention, codeMentions } from "../platform/request-terms.ts";
import { type Definition, definitionsOf, endOf, isAlias } from "./file-excerpts.ts";
import { fileKind } from "./rank-files.ts";

/** The code that a request names: functions, classes, files. */
export interface NamedCode {
  readonly names: readonly string[];
  /** The names that it wants to be changed, by the words around them; cited names are not among them. */
  readonly wanted: readonly string[];
}

/** Characters of a request that are read. */
const READ_CHARS = 20_000;

/** Code, logs and quotations in a request only show something. */
const SHOWN = /^(```|~~~)[\s\S]*?^\1.*$|^(?: {4,}|\t|>|\$ ).*$/gm;
const SENTENCE_END = /[.!?](?=\s|$)|[。！？]|\n\s*\n|\n\s*(?:[-*•]|\d+[.)])\s/g;

/** Separators between two names of one list, including marks around a name. */
const JOINS =
  /^(?:\(\))?[`'"*]*(?:\s*,\s*(?:and\s+)?|\s*\/\s*|\s+&\s+|\s+and\s+|\s+as\s+well\s+as\s+|\s*(?:、|と|や|および|及び)\s*)(?:the\s+|also\s+)?[`'"*]*(?:\w+\.)*$/i;

/** Before a name, or a list of them, that is only cited. */
const CITES =
  /(?:\b(?:like|unlike|see|from|by|via|with|using|uses?|used|as|than|between|through|against|call(?:s|ing|ed)?|(?:calls?|similar|equal|according|compared|due|thanks|opposed|identical) to|instead of|in favou?r of|such as|e\.g\.|cf\.|per|after|before|when|if|where|while|because|since|once|unless|although|returns?|accepts?|takes?|pass(?:es|ed|ing)?|throws?|raises?|imports?|imported|introduced in|mentions?|named|not|but|only)\s+(?:the\s+|a\s+|an\s+|both\s+)?|[(（])[`'"*]*(?:\w+\.)*$/i;
/** After a name that is fine as it is, or that only does something to another. */
const FINE =
  /^(?:\(\))?[`'"*]*(?:\s*(?:function|method|class|関数|メソッド|クラス))?(?:\s+(?:already|works?|worked|do(?:es)? (?:it|this|that|so|not)|is (?:fine|right|correct|not|unaffected|ok)|are (?:fine|right|correct|not|unaffected|ok)|(?:was|were) (?:removed|added|fixed|changed|introduced|already)|allows?|stays?|remains?|calls?|uses?|passes|returned?|returns)\b|\s*(?:のよう|と同じ|と同様|を参照|を呼|を使|から|による|は(?:正し|問題な|そのまま)))/i;

const FAULT = "(?:problem|bug|issue|fault|error|defect|mistake|flaw|treatment|fix|change|behaviou?r)";
const SAME_BEHIND = new RegExp(
  `^(?:\\(\\))?[\`'"*]*(?:\\s+(?:function|method|class))?(?:\\s+(?:also|probably|apparently))*\\s+(?:has|have|had|shows?|suffers? from|needs?|is affected by|with)\\s+(?:exactly\\s+)?(?:the\\s+|this\\s+)?same\\b(?:\\s+${FAULT})?|^(?:\\(\\))?[\`'"*]*(?:\\s+(?:function|method|class))?(?:,)?\\s+(?:too|as well|likewise|also)\\b|^(?:\\(\\))?[\`'"*]*\\s*(?:関数|メソッド|クラス)?\\s*(?:に|で)?も(?:\\s|、|同|直|修正|変更|お願い)`,
  "i",
);
const SAME_BEFORE = new RegExp(
  `\\b(?:same(?:\\s+(?:goes|applies|holds|is true|happens))?(?:\\s+${FAULT})?(?:\\s+exists)?\\s+(?:for|in|with|to|of)|(?:so|neither) (?:do|does|is|are)|likewise(?: for| in)?|both)\\s+(?:the\\s+)?[\`'"*]*(?:\\w+\\.)*$`,
  "i",
);
const CHANGED_BEFORE =
  /(?:^|[\n;,:、。]\s*|\b(?:also|and|then|please|to|must|should)\s+)(?:fix|change|update|rename|remove|delete|refactor|rewrite|extend|correct|adjust|convert|simplify|deprecate|make|let)\s+(?:the\s+)?(?:function\s+|method\s+|class\s+)?[`'"*]*(?:\w+\.)*$/i;
const CHANGED_BEHIND =
  /^(?:\(\))?[`'"*]*\s*(?:関数|メソッド|クラス)?\s*を(?:修正|変更|削除|直|更新|改名|リネーム|書き換え)/;

/** Reads which code a request names, and of which it wants a change; the latter only decides whether a coder is asked about it once. */
export function readNamedCode(request: string): NamedCode {
  const text = request.slice(0, READ_CHARS).replace(SHOWN, "");
  const mentions = mentionsIn(text);
  const wanted = new Set<string>();
  for (const list of listsIn(text, mentions)) {
    const [first, last] = [list[0] as CodeMention, list.at(-1) as CodeMention];
    const before = sentenceBefore(text, first.from);
    const behind = sentenceBehind(text, last.to);
    const isSame = SAME_BEFORE.test(before) || SAME_BEHIND.test(behind);
    if (!isSame && (CITES.test(before) || FINE.test(behind))) continue;
    if (isSame || list.length > 1 || CHANGED_BEFORE.test(before) || CHANGED_BEHIND.test(behind))
      for (const { name } of list) wanted.add(name);
  }
  return { names: [...new Set(mentions.map(({ name }) => name))], wanted: [...wanted] };
}

/** Whether a text has a name as a whole word. */
export function hasName(text: string, name: string): boolean {
  const around = text.split(name);
  return around.some((part, at) => at > 0 && !/[\w$]$/.test(around[at - 1] ?? "") && !/^[\w$]/.test(part));
}

/** Files of a project, as far as reasons for no change need them. To look at one does not count as showing it to a coder. */
interface NamedFiles {
  list(limit: number): readonly string[];
  readonly source: FileSource;
}

const MOST_LISTED_FILES = 20_000;

/** Whether reasons for no change cover the whole request, or, with those of `before`, all code and files that it names. */
export function leaveAll(
  reasons: readonly string[],
  before: readonly string[],
  request: string,
  files: NamedFiles,
): boolean {
  if (reasons.length === 0) return false;
  const { names } = readNamedCode(request);
  if (reasons.some((reason) => readReasonNames(reason, names).length === 0)) return true;
  const left = new Set([...before, ...reasons].flatMap((reason) => readReasonNames(reason, names)));
  const open = names.filter((name) => !left.has(name));
  if (!open.every(isPath)) return false;
  // The path of a source that has the code of a reason only says where that is.
  const sources = open.length === 0 ? [] : files.list(MOST_LISTED_FILES).filter(isSource);
  const hasLeft = (path: string) => {
    const entry = attemptOr(null, () => files.source.look(path));
    const text = entry?.kind === "file" ? new TextDecoder().decode(entry.bytes) : "";
    return [...left].some((name) => !isPath(name) && hasName(text, name));
  };
  return open.every((name) => endingIn(sources, name).some(hasLeft));
}

/** The names that a reason is about, as in `NAME: reason`; none if it does not begin with one. */
function readReasonNames(reason: string, names: readonly string[]): string[] {
  const [subject = ""] = reason.replace(/^[`*'"]+/, "").split(/[:：]/, 1);
  const isFirst = (name: string) =>
    subject.startsWith(name) && hasName(subject.slice(0, name.length + 1), name);
  return names.some(isFirst) ? names.filter((name) => hasName(subject, name)) : [];
}

const PATH =
  /(?<![\w/@.-])(?:[\w@.-]+\/)*[\w@-][\w@.-]*\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|swift|cs|php|cc?|h|cpp|hpp|sql|sh|vue|svelte|md|rst|ya?ml|toml|json)(?![\w/-]|\.\w)/g;

function isPath(name: string): boolean {
  return name.includes(".");
}

/** Files and names of code in the order of the text; a name within a path does not count. */
function mentionsIn(text: string): CodeMention[] {
  const paths = [...text.matchAll(PATH)].map(({ 0: name, index }) => ({
    name: name.replace(/^\.\//, ""),
    from: index,
    to: index + name.length,
  }));
  const names = codeMentions(text).filter(
    ({ from }) => !paths.some((path) => from >= path.from && from < path.to),
  );
  return [...paths, ...names].sort((a, b) => a.from - b.from);
}

/** Names in one list: `a`, `b` and `c`. */
function listsIn(text: string, mentions: readonly CodeMention[]): CodeMention[][] {
  const lists: CodeMention[][] = [];
  for (const mention of mentions) {
    const last = lists.at(-1)?.at(-1);
    if (last !== undefined && JOINS.test(text.slice(last.to, mention.from))) lists.at(-1)?.push(mention);
    else lists.push([mention]);
  }
  return lists;
}

const AROUND = 120;

function sentenceBefore(text: string, at: number): string {
  const part = text.slice(Math.max(0, at - AROUND), at);
  const ends = [...part.matchAll(SENTENCE_END)];
  const last = ends.at(-1);
  return last === undefined ? part : part.slice(last.index + last[0].length);
}

function sentenceBehind(text: string, at: number): string {
  const part = text.slice(at, at + AROUND);
  const end = part.search(SENTENCE_END);
  return end === -1 ? part : part.slice(0, end + 1);
}

interface Source {
  readonly path: string;
  readonly text: string;
}

const CALL = /([A-Za-z_$][\w$]*)\s*\(/g;
const WORD = /[A-Za-z_$][\w$]*/g;

/** The definitions and the words that a change touches. */
export function readTouchedCode(changed: readonly ChangedText[]) {
  /** Names of the definitions around a changed line, before or after the change. */
  const defined = new Set<string>();
  /** Words of the changed lines themselves, changelogs left out. */
  const words = new Set<string>();
  /** Names of the innermost definitions of sources around a changed line: their callers are affected too. */
  const bodies = new Set<string>();
  for (const { path, before, after } of changed) {
    const kind = fileKind(path);
    if (kind === "history" || kind === "generated") continue;
    const [old, now] = [before?.split("\n") ?? [], after?.split("\n") ?? []];
    const ranges = compareLines(old, now);
    for (const [lines, side] of [
      [old, ranges.map((one) => one.old)],
      [now, ranges.map((one) => one.now)],
    ] as const) {
      const blocks = definitionsOf(lines, path).map((one) => ({ ...one, to: endOf(lines, one) }));
      // Both are sorted by line, so each range looks only at the functions around it, among thousands.
      let [around, next] = [blocks.slice(0, 0), 0];
      for (const [from, to] of side) {
        for (; (blocks[next]?.line ?? Infinity) <= Math.max(to, from + 1); next++)
          around.push(blocks[next] as (typeof blocks)[number]);
        around = around.filter(({ to: end }) => end > from);
        for (const { name } of around) defined.add(name);
        const inner = kind === "source" ? around.at(-1)?.name : undefined;
        if (inner !== undefined) bodies.add(inner);
        for (const line of lines.slice(from, to)) for (const [word] of line.matchAll(WORD)) words.add(word);
      }
    }
    defined.add(stemOf(path));
  }
  return { defined, words, bodies, paths: changed.map(({ path }) => path) };
}

function stemOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\..*$/, "");
}

/**
 * Names that a request wants to be changed, and that a change leaves alone while it touches other names of the request. A name counts only
 * if the sources define it once; others are ambiguous. A function that calls touched code does not count: the change may fix it.
 */
export function findUntouchedNames(
  { names, wanted }: NamedCode,
  touched: ReturnType<typeof readTouchedCode>,
  project: { readonly paths: readonly string[]; readonly sources: readonly Source[] },
): string[] {
  const isTouched = (name: string) =>
    isPath(name) ? endingIn(touched.paths, name).length > 0 : touched.defined.has(name);
  if (!names.some(isTouched)) return [];
  const left = wanted.filter((name) => !isTouched(name) && !touched.words.has(name));
  const sources = project.sources.filter(({ path }) => isSource(path)).map(readSource);
  return left.filter((name) => {
    if (isPath(name)) return endingIn(project.paths, name).length === 1;
    const [body, ...others] = sources.flatMap((source) => bodiesOf(source, name));
    if (body === undefined || others.length > 0) return false;
    return ![...body.join("\n").matchAll(CALL)].some(([, called = ""]) => touched.bodies.has(called));
  });
}

function isSource(path: string): boolean {
  return fileKind(path) === "source";
}

function endingIn(paths: readonly string[], name: string): string[] {
  return paths.filter((path) => path === name || path.endsWith(`/${name}`));
}

function readSource({ path, text }: Source) {
  const lines = text.split("\n");
  return { lines, definitions: definitionsOf(lines, path) };
}

function bodiesOf(
  { lines, definitions }: { readonly lines: readonly string[]; readonly definitions: readonly Definition[] },
  name: string,
): string[][] {
  return definitions
    .filter((one) => one.name === name && !isAlias(lines[one.line - 1] ?? ""))
    .map((one) => lines.slice(one.line - 1, endOf(lines, one)));
}
