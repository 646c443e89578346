import type { ChecksRecord } from "../checks/findings.ts";
import { affectedFiles } from "../drafts/check-edits.ts";
import type { RedReason } from "../jobs/result.ts";
import { openFence, type Piece, quotePart, walkReply } from "../patch/formats/markdown/walk-reply.ts";
import { parseAnswer } from "../patch/parse-patch.ts";
import type { ParseResult, PatchItem, SkippedPart } from "../patch/patch-command.ts";
import { createLineCounter, lineAt } from "../platform/bytes-text.ts";
import { ownMember } from "../platform/json-members.ts";

export interface Proposal {
  readonly plan: string;
  /** In any of the patch formats; empty means that there is nothing to do. */
  readonly patch: string;
  readonly risk: RiskLevel;
  readonly costHint: string;
  /** A command line that tests the change, where the project's own checks cannot. */
  readonly check?: string;
  /** Set if the patch is what the coder's runs left in their scratch view: all of it, or these paths. */
  readonly scratch?: { readonly paths: readonly string[] | null };
  /** `uses_browser` and any other flag that the coder set. */
  readonly flags: Readonly<Record<string, boolean>>;
}

type RiskLevel = "low" | "medium" | "high";

/** A proposal, a request to see files or to search first, or neither. */
export type ReadProposal =
  | {
      readonly kind: "proposal";
      readonly proposal: Proposal;
      /** The patch, which is parsed only here. */
      readonly parsed: ParseResult;
      /** Without `## Patch`: a block under a path line may be an example. */
      readonly isBare?: boolean;
    }
  | {
      readonly kind: "needs-files";
      /** `path` or `path:from-to`. */
      readonly paths: readonly string[];
      /** Texts or regular expressions to look for. */
      readonly searches: readonly string[];
      readonly plan: string;
      /** Its blocks, which nothing carries out; absent without any. */
      readonly blocks?: readonly SkippedPart[];
    }
  | { readonly kind: "none"; readonly text: string };

export function hasFlag({ flags }: Pick<Proposal, "flags">, name: string): boolean {
  return flags[name] === true;
}

type SectionName = "plan" | "patch" | "risk" | "cost" | "flags" | "files" | "search" | "check";

/** A coder is asked for the English names; models that answer in Japanese translate them. */
const NAMES: Readonly<Record<string, SectionName>> = {
  plan: "plan",
  計画: "plan",
  プラン: "plan",
  patch: "patch",
  パッチ: "patch",
  risk: "risk",
  リスク: "risk",
  cost: "cost",
  "cost hint": "cost",
  cost_hint: "cost",
  コスト: "cost",
  flags: "flags",
  フラグ: "flags",
  files: "files",
  ファイル: "files",
  search: "search",
  検索: "search",
  check: "check",
  検証: "check",
};

/**
 * The `## Plan`, `## Patch`, `## Risk` and `## Cost` of an answer. Only a heading outside of fences, raw diffs,
 * SEARCH/REPLACE blocks and JSON counts, and only one of these names ends a section: a patch may hold any other
 * `##`, and any heading at all inside of a file. A repeated name continues its section. `lead`: the text before the first
 * heading.
 */
function readSections(text: string) {
  const headings = headingsOf(text);
  const named: Partial<Record<SectionName, string>> = {};
  headings.forEach(({ name, bodyStart, rest }, i) => {
    const body = `${rest}${text.slice(bodyStart, headings[i + 1]?.start ?? text.length)}`;
    named[name] = named[name] === undefined ? body : `${named[name]}\n${body}`;
  });
  return { lead: text.slice(0, headings[0]?.start ?? text.length), named };
}

interface Heading {
  readonly name: SectionName;
  readonly start: number;
  readonly bodyStart: number;
  /** The text after the name on its line: `## Risk: low`. */
  readonly rest: string;
}

function headingsOf(text: string): Heading[] {
  const headings: Heading[] = [];
  let from = 0;
  for (const piece of walkReply(text)) {
    collect(text, from, startOf(piece), headings);
    // A diff without a fence has no end of its own, but none of its lines begins with a hash.
    if (piece.kind === "raw" && piece.format.name === "diff")
      collect(text, piece.start, piece.end, headings, "flush");
    // A fence that is never closed ends where the sections behind the patch begin.
    if (piece.kind === "block" && !piece.closed)
      headings.push(...headingsBehind(text.slice(0, piece.end), piece.start));
    from = piece.end;
  }
  collect(text, from, text.length, headings);
  return headings;
}

function headingsBehind(text: string, from: number): Heading[] {
  const found: Heading[] = [];
  collect(text, from, text.length, found, "flush");
  const first = found.findIndex(({ name, start }) => name === "risk" && text.startsWith("## ", start));
  return first === -1 ? [] : found.slice(first);
}

/** Every pattern here takes linear time: a model can answer with any number of spaces or empty lines. */
const HEADING_LINE = /^ {0,3}#{1,3}[ \t]+(.*)$/gm;

/** No section name is longer than 20 characters. */
const HEADING = /^(?:\*\*)?([^\s:：*#][^:：*#]{0,19})(?:\*\*)?[ \t]*(?:[:：](?:\*\*)?[ \t]*(.*))?$/;

function collect(text: string, from: number, to: number, into: Heading[], where?: "flush"): void {
  const part = text.slice(from, to);
  for (const match of part.matchAll(HEADING_LINE)) {
    const [, called = "", rest = ""] = HEADING.exec(withoutClosingHashes(match[1] as string)) ?? [];
    const name = ownMember(NAMES, called.trim().toLowerCase());
    if (name === undefined || (where === "flush" && !match[0].startsWith("#"))) continue;
    const start = from + match.index;
    const newline = text.indexOf("\n", start + match[0].length);
    const bodyStart = newline === -1 ? text.length : newline + 1;
    into.push({ name, start, bodyStart, rest: rest === "" ? "" : `${rest}\n` });
  }
}

/** `## Plan ##` is a heading too. */
function withoutClosingHashes(heading: string): string {
  let end = heading.length;
  while (end > 0 && " \t#".includes(heading[end - 1] as string)) end--;
  return heading.slice(0, end);
}

/** The section that a line begins; undefined for every other line. */
export function readSectionLine(line: string): SectionName | undefined {
  const found: Heading[] = [];
  collect(line, 0, line.length, found);
  return found[0]?.name;
}

/**
 * The JSON of a proposal, alone, in a fence or amid prose, or sections; without a heading, commands are a patch and prose its plan.
 * `asked`: the files that the request is about, for a model that often leaves out the path of a block.
 */
export function readProposal(answer: string, asked: readonly string[] = []): ReadProposal {
  const text = withHunkHeads(unwrapFiles(answer.replace(/^\uFEFF/, ""), asked), asked);
  return readProposalText(text, { unwrap: true, asked });
}

/** Small models leave out the `@@` of a diff: its hunk begins below the names. */
function withHunkHeads(text: string, asked: readonly string[]): string {
  return text.replace(
    /^(--- \S+\n\+\+\+ (?:b\/)?(\S+)\n)(?=[ +-])/gm,
    (head: string, _: string, path: string) => (asked.includes(path) ? `${head}@@\n` : head),
  );
}

interface ReadingOptions {
  readonly unwrap: boolean;
  readonly asked: readonly string[];
}

const FILE_ELEMENT =
  /^(`{3,}\w*\n)?<file path="([^"\n]+)">\n((?:(?!<\/?file\b).*\n)*)<\/file>[ \t]*(\n`{3,}[ \t]*$)?/gm;

/**
 * `<file path="…">…</file>`, as files are shown to coders, alone or in a fence: the same lines as a block under its path. Without a
 * patch around it, only a file that is asked for counts: another one may be a quotation of what was shown.
 */
function unwrapFiles(text: string, asked: readonly string[]): string {
  if (!text.includes("<file path=")) return text;
  const isPatch = readSections(text).named.patch !== undefined;
  const blocks = [...walkReply(text)].filter((piece) => piece.kind === "block");
  return text.replace(
    FILE_ELEMENT,
    (whole, opens = "", path: string, body: string, closes = "", at: number) => {
      const holder = blocks.find((block) => block.opens < at + opens.length + 1 && at < block.end);
      if (holder !== undefined && (opens === "" || closes === "")) return whole;
      if (!isPatch && !asked.includes(path)) return whole;
      const marks = [...body.matchAll(/^[ \t]*(`+)/gm)].map(([, ticks = ""]) => ticks.length + 1);
      const fence = "`".repeat(Math.max(3, ...marks));
      const language = /\.(\w+)$/.exec(path)?.[1] ?? "text";
      return `${opens && "\n"}${fence}${language}:${path}\n${body}${fence}${closes && "\n"}`;
    },
  );
}

function readProposalText(text: string, { unwrap, asked }: ReadingOptions): ReadProposal {
  const json = jsonProposal(text);
  if (json !== undefined) return json;
  const { lead, named } = readSections(text);
  const plan = named.plan?.trim() ?? "";
  // A model may write the file above the patch and leave the patch itself empty, or copy the word `reason` from its prompt into it.
  const isAbove =
    named.patch !== undefined && saysNothing(plan, named.patch) && hasFiles(parseAnswer(text, asked));
  if (named.patch !== undefined && !isAbove) {
    const written = {
      plan: plan || lead.trim(),
      patch: named.patch,
      risk: riskOf(named.risk ?? ""),
      costHint: named.cost?.trim() ?? "",
      ...checkOf(named.check),
      flags: flagsOf(`${named.flags ?? ""}\n${named.cost ?? ""}\n${named.risk ?? ""}`),
    };
    const read = parseProposal(written, asked);
    const { patch: _, ...others } = named;
    return withFilesBeside(read, text, [lead, ...Object.values(others)].join("\n"));
  }
  const paths = linesOf(named.files ?? "")
    .filter((line) => !/\s{2,}/.test(line))
    .slice(0, MOST_FILES);
  const searches = linesOf(named.search ?? "").slice(0, MOST_SEARCHES);
  if (paths.length + searches.length > 0)
    return { kind: "needs-files", paths, searches, plan: plan || lead.trim(), ...blocksIn(text) };
  const whole = unwrap ? loneBlock(text) : undefined;
  if (whole !== undefined) {
    const inside = readProposalText(whole, { unwrap: false, asked });
    if (inside.kind !== "none") return inside;
  }
  const { scratch, parsed } = parseBeside(text, asked);
  const isEmpty = parsed.ok && parsed.commands.length === 0 && !/^\s*\[\s*\]\s*$/.test(text);
  const isBroken = !parsed.ok && parsed.failure.items?.some((item) => !("unread" in item)) === true;
  const { check } = checkOf(named.check);
  if (!parsed.ok && !isBroken && check !== undefined && unwrap)
    return parseProposal({ plan, patch: "", risk: "low", costHint: "", check, flags: {} });
  if ((!parsed.ok && !isBroken) || (isEmpty && scratch === undefined)) return { kind: "none", text };
  const proposal: Proposal = {
    plan: (isAbove && proseBefore(plan)) || plan || proseBefore(text),
    patch: text,
    risk: riskOf(named.risk ?? ""),
    costHint: named.cost?.trim() ?? "",
    ...checkOf(named.check),
    flags: flagsOf(named.flags ?? ""),
    ...(scratch !== undefined && { scratch }),
  };
  return { kind: "proposal", proposal, parsed, isBare: true };
}

/** Beside `## Patch`, a file that the patch does not touch is a part that nothing carries out: it lists it as skipped. */
function withFilesBeside(read: ProposalRead, text: string, beside: string): ProposalRead {
  const { parsed } = read;
  if (!parsed.ok || parsed.commands.length === 0 || !/```|~~~|^\*\*\* |^(?:---|diff) |<<<<</m.test(beside))
    return read;
  const there = parseAnswer(beside);
  if (!there.ok) return read;
  const plain = (path: string) => path.replace(/^(?:\.\/)+/, "");
  const touched = new Set(affectedFiles(parsed.commands).map(plain));
  const paths = affectedFiles(there.commands).filter((path) => !touched.has(plain(path)));
  if (paths.length === 0) return read;
  const lineOf = createLineCounter(text);
  const skipped = paths
    // Looking for each of thousands would take long.
    .map((path, i) => ({
      at: i < 100 ? Math.max(0, text.indexOf(path)) : text.length,
      text: quotePart(path),
    }))
    .sort((one, other) => one.at - other.at)
    .map(({ at, text: part }) => ({ line: lineOf(at), text: part, why: "a file outside of ## Patch" }));
  return { ...read, parsed: { ...parsed, skipped: [...(parsed.skipped ?? []), ...skipped] } };
}

type ProposalRead = Extract<ReadProposal, { kind: "proposal" }>;

/** Whether a patch is empty, and no reason is given for it. */
function saysNothing(plan: string, patch: string): boolean {
  if (/[`<{[~]/.test(patch)) return false;
  const { reasons } = readNoChange(`${plan}\n\n${patch}`);
  return readNoChange(patch).others === "" && reasons.every((reason) => reason === "");
}

function hasFiles(parsed: ParseResult): boolean {
  return parsed.ok && parsed.commands.some(({ type }) => type === "file_edit");
}

function parseProposal(written: Proposal, asked: readonly string[] = []): ProposalRead {
  const { scratch, parsed } = parseBeside(written.patch, asked);
  if (scratch !== undefined) return { kind: "proposal", proposal: { ...written, scratch }, parsed };
  const proposal = { ...written, ...emptied(written) };
  return { kind: "proposal", proposal, parsed: proposal.patch === written.patch ? parsed : parseAnswer("") };
}

/** The rest of a patch beside the scratch view; prose there is no mistake. */
function parseBeside(
  patch: string,
  asked: readonly string[],
): Pick<Proposal, "scratch"> & { readonly parsed: ParseResult } {
  if (!/in (?:the|my) scratch view/i.test(patch)) return { parsed: parseAnswer(patch, asked) };
  const lone = loneBlock(patch)?.trim() ?? "";
  const { paths, others } = readScratchLines(SCRATCH.test(lone.split("\n", 1)[0] ?? "") ? lone : patch);
  if (paths === undefined) return { parsed: parseAnswer(patch, asked) };
  const parsed = parseAnswer(others);
  const isProse = !parsed.ok && parsed.failure.code === "not-a-patch";
  return { scratch: { paths }, parsed: isProse ? parseAnswer("") : parsed };
}

/** `as in the scratch view`, alone or with paths: behind it, or in a list below it. */
const SCRATCH =
  /^[ \t]{0,12}(?:[-*+][ \t]{1,4})?[*`]{0,3}(?:Patch[*`]{0,3}[:：][*`]{0,3}[ \t]{0,4})?as in (?:the|my) scratch view[*`]{0,3}[ \t]{0,4}(?:[:：][*`]{0,3}(.*)|[.。]?[*`]{0,3}\s*)$/i;
const SCRATCH_PATH = /^[ \t]{0,12}[-*+][ \t]{1,4}`?([^\s`]{1,400})`?[ \t]*$/;

/** `others`: the patch without these lines, whose places stay. `paths`: undefined without such a line, null if it names none. */
function readScratchLines(patch: string) {
  const named: string[] = [];
  let state: "before" | "list" | "after" = "before";
  const others = linesOutside(patch, (line) => {
    const rest = state === "before" ? SCRATCH.exec(line) : null;
    if (rest !== null) named.push(...(rest[1] ?? "").split(","));
    const listed = state === "list" ? SCRATCH_PATH.exec(line)?.[1] : undefined;
    if (listed !== undefined) named.push(listed);
    if (rest !== null) state = "list";
    else if (state === "list" && listed === undefined && line.trim() !== "") state = "after";
    return rest !== null || listed !== undefined;
  }).map((line) => line ?? "");
  const paths = named.map((path) => path.replace(/[`*]/g, "").trim()).filter((path) => path !== "");
  const isThere = (state as string) !== "before";
  return {
    others: others.join("\n"),
    paths: isThere ? (paths.length === 0 ? null : [...new Set(paths)]) : undefined,
  };
}

/** The lines of a text, null for each outside of its blocks that is taken. */
function linesOutside(text: string, takes: (line: string) => boolean): (string | null)[] {
  const pieces = walkReply(text);
  let piece = pieces.next().value;
  let next = 0;
  return text.split("\n").map((line) => {
    const from = next;
    next += line.length + 1;
    while (piece && piece.end <= from) piece = pieces.next().value;
    return (piece && startOf(piece) < next) || !takes(line) ? line : null;
  });
}

/** Whether an answer without a readable proposal was meant as one; else it is an answer in words, or a question. */
export function looksLikePatch(text: string): boolean {
  return /^[^\S\r\n\u2028\u2029]*(?:<{5,9} ?SEARCH\b|\*\*\* (?:Begin Patch|Update File|Add File)|diff --git |@@ -\d)|"type"\s*:\s*"(?:file_edit|shell_command)"|^#+ *Patch\b/m.test(
    text,
  );
}

/** Models that answer in Japanese translate this label, as they do the names of sections. */
const NO_CHANGE =
  /^(?: {0,3}|[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]{1,4})[*`]{0,3}(?:No changes?|変更なし)[*`]{0,3}[ \t]{0,9}(?:([:：])[*`]{0,3}|[.。]?[*`]{0,3}\s{0,9}$)/i;

/** Lines `No change: reason` in blocks, quotations and headings do not count, unless a block contains only such lines. */
export function readNoChange(words: string): { readonly reasons: string[]; readonly others: string } {
  const lone = loneBlock(words);
  const inside = lone === undefined ? undefined : readNoChange(lone);
  if (inside?.others === "") return inside;
  const reasons: string[] = [];
  const others = linesOutside(words, (line) => {
    const found = NO_CHANGE.exec(line);
    const reason = line.slice(found?.[0].length).trim();
    // Small models copy the line as their prompt has it, and that is no reason.
    if (found !== null && !/^reason\.?$/i.test(reason)) reasons.push(reason.replace(/^([^`]*)`$/, "$1"));
    return found !== null;
  }).filter((line) => line !== null);
  return { reasons, others: others.join("\n").trim() };
}

/** `{plan, patch, risk, cost_hint, uses_browser}`; `patch` as text or as the commands themselves. */
function jsonProposal(text: string): ReadProposal | undefined {
  for (const { value, piece } of jsonValues(text)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    const fields = value as Readonly<Record<string, unknown>>;
    if (Object.hasOwn(fields, "type") || Object.hasOwn(fields, "action")) continue;
    const files = fields.files;
    if (fields.patch === undefined && Array.isArray(files) && files.every((one) => typeof one === "string"))
      return {
        kind: "needs-files",
        paths: files.slice(0, MOST_FILES),
        searches: [],
        plan: jsonStringOrLines(fields.plan),
        ...blocksIn(text, piece),
      };
    if (fields.patch === undefined) continue;
    const flags: Record<string, boolean> = {};
    for (const [name, flag] of Object.entries(fields)) if (typeof flag === "boolean") flags[name] = flag;
    const read = parseProposal({
      plan: jsonStringOrLines(fields.plan),
      patch: typeof fields.patch === "string" ? fields.patch : jsonText(fields.patch),
      risk: riskOf(jsonStringOrLines(fields.risk)),
      costHint: jsonStringOrLines(fields.cost_hint ?? fields.cost),
      ...checkOf(jsonStringOrLines(fields.check)),
      flags,
    });
    const { parsed } = read;
    if (!parsed.ok) return read;
    const { blocks = [] } = blocksIn(text, piece);
    return { ...read, parsed: { ...parsed, skipped: [...(parsed.skipped ?? []), ...blocks] } };
  }
  return undefined;
}

/** The whole text as JSON (without a piece), else the only JSON in a fence. */
function* jsonValues(text: string): Generator<{ readonly value: unknown; readonly piece: Piece | null }> {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) yield* jsonValue(trimmed, null);
  if (!trimmed.includes('"patch"') && !trimmed.includes('"files"')) return;
  for (const piece of walkReply(text)) {
    if (piece.kind === "json") yield { value: piece.value, piece };
    else if (piece.kind === "block" && piece.body.trimStart().startsWith("{"))
      yield* jsonValue(piece.body, piece);
  }
}

function* jsonValue(text: string, piece: Piece | null) {
  try {
    yield { value: JSON.parse(text) as unknown, piece };
  } catch {
    // Not JSON: the answer is read by its sections.
  }
}

/** The blocks and raw patches of an answer that is read as something else than a patch: but for this piece, or none where that is all of it. */
function blocksIn(text: string, other?: Piece | null): { readonly blocks?: readonly SkippedPart[] } {
  if (other === null) return {};
  const lineOf = createLineCounter(text);
  const blocks = [...walkReply(text)].flatMap((piece) => {
    const start = startOf(piece);
    if (piece.kind === "comment" || (other !== undefined && start === startOf(other))) return [];
    const body = piece.kind === "block" ? piece.body : "";
    return [{ line: lineOf(start), text: quotePart(lineAt(text, start), body), why: "outside of the patch" }];
  });
  return blocks.length === 0 ? {} : { blocks };
}

function jsonStringOrLines(value: unknown): string {
  if (typeof value === "string") return value.trim();
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join("\n");
  return "";
}

function jsonText(value: unknown): string {
  return value === null || (Array.isArray(value) && value.length === 0) ? "" : JSON.stringify(value);
}

const FENCE_LINE = /^[^\S\n\r\u2028\u2029]*(?:```|~~~)\w*[^\S\n\r\u2028\u2029]*$/gm;

const LONGEST_CHECK = 500;

/** One command line, in a fence or in backticks or plain; anything longer is not a check. */
function checkOf(text = ""): { readonly check?: string } {
  const lines = text.replace(FENCE_LINE, "").trim().split("\n");
  const line = (lines[0] ?? "")
    .replace(/^`(.+)`$/, "$1")
    .replace(/^\$ /, "")
    .trim();
  return lines.length !== 1 || line === "" || line.length > LONGEST_CHECK ? {} : { check: line };
}

/** Reads a patch that says "nothing to do", with or without a fence, as an empty one; its reason moves into the plan. */
function emptied({ plan, patch }: Proposal): Pick<Proposal, "plan" | "patch"> {
  const plain = patch.replace(FENCE_LINE, "").trim();
  if (NO_CHANGE.exec(plain)?.[1] !== undefined && readNoChange(plain).others === "")
    return { plan: `${plan}\n${plain}`.trim(), patch: "" };
  const isEmpty =
    plain === "" || /^[([（「]?(?:none|empty|no changes?|n\/a|なし|変更なし|空)[)\]）」.。]?$/i.test(plain);
  return { plan, patch: isEmpty ? "" : patch };
}

function riskOf(text: string): RiskLevel {
  const found = /\b(low|medium|high)\b|(低|中|高)/i.exec(text);
  switch (found?.[1]?.toLowerCase() ?? found?.[2]) {
    case "low":
    case "低":
      return "low";
    case "high":
    case "高":
      return "high";
    default:
      return "medium";
  }
}

/** `uses_browser: true`, `- uses_browser`, `uses_browser = yes`. */
function flagsOf(text: string): Record<string, boolean> {
  const flags: Record<string, boolean> = {};
  for (const [, name, value] of text.matchAll(
    /^[ \t\u00a0\u3000*-]*`?([a-z]+(?:_[a-z]+)+)`?(?:\s{0,20}[:=]\s{0,20}`?(\w+)`?)?[^\S\n\r\u2028\u2029]*$/gm,
  )) {
    if (name !== undefined) flags[name] = value === undefined || /^(?:true|yes|1)$/i.test(value);
  }
  return flags;
}

const MOST_FILES = 20;
const MOST_SEARCHES = 6;

/** One wish per line, plain, in backticks or in a list. */
function linesOf(text: string): string[] {
  const lines = text
    .split("\n")
    .map((line) => line.replace(/^\s*(?:[*-]\s+|\d+[.)]\s+)?/, "").trim())
    .map((line) => (/^`([^`]+)`/.exec(line)?.[1] ?? line).trim())
    .filter((line) => line !== "" && !line.startsWith("```") && !line.startsWith("#"));
  return [...new Set(lines)];
}

function loneBlock(text: string): string | undefined {
  const pieces = [...walkReply(text)];
  const [only] = pieces;
  if (pieces.length !== 1 || only?.kind !== "block") return nestedBlock(text);
  const around = text.slice(0, only.opens) + text.slice(only.end);
  return around.trim() === "" && /^(?:|md|markdown|text|txt)$/i.test(only.info) ? only.body : undefined;
}

/** Removes the first and last line of a fenced answer that contains fences of the same length, which would end it early. */
function nestedBlock(text: string): string | undefined {
  const trimmed = text.trim();
  const lineEnd = trimmed.indexOf("\n");
  if (lineEnd === -1) return undefined;
  const fence = openFence(trimmed, 0, lineEnd, { indent: 0, container: 0 });
  if (fence === undefined || !/^(?:md|markdown)$/i.test(fence.info)) return undefined;
  const last = trimmed.lastIndexOf("\n");
  const closes = trimmed.slice(last + 1).trim() === fence.mark.repeat(fence.length);
  return closes ? trimmed.slice(lineEnd + 1, last + 1) : undefined;
}

function proseBefore(text: string): string {
  for (const piece of walkReply(text)) {
    return text.slice(0, startOf(piece)).trim();
  }
  return "";
}

function startOf(piece: Piece): number {
  return piece.kind === "block" ? piece.opens : piece.start;
}

/** The result of one of several coders; plain JSON, kept with the reply. */
export interface CoderCandidateFacts {
  readonly agent: string;
  /** `green`: nothing is red. `said`: words instead of a patch. `none`: no proposal that could be carried out. */
  readonly outcome: "green" | RedReason | "said" | "none";
  /** The first line of its plan, of its words, or of the reason why there is nothing. */
  readonly words: string;
  readonly attempts: number;
  readonly files: number;
  /** Lines that it adds and removes. */
  readonly size: number;
  /** A test that it adds fails on the old code. */
  readonly provesFix: boolean;
  readonly checks: ChecksRecord | null;
}

/** Why the chosen draft ranks before the next. `only`: no other coder had a draft. `first`: they are equal. */
export type ChosenBy = "only" | "checks" | "test" | "size" | "first";

export interface CoderCandidatesFacts {
  readonly chosen: CoderCandidateFacts;
  readonly by: ChosenBy;
  /** Their drafts are discarded. */
  readonly others: readonly CoderCandidateFacts[];
}

export type RankedCoderCandidate = Pick<CoderCandidateFacts, "outcome" | "checks" | "provesFix" | "size">;

const OUTCOMES: Readonly<Record<CoderCandidateFacts["outcome"], number>> = {
  green: 0,
  failing: 1,
  worse: 2,
  unended: 2,
  conflict: 2,
  hook: 2,
  "still-red": 1,
  "new-failing": 1,
  said: 3,
  none: 3,
};

const VERDICTS: Readonly<Record<ChecksRecord["verdict"], number>> = {
  better: 0,
  same: 1,
  "red-before": 2,
  "new-failing": 3,
  unknown: 4,
  "not-checked": 4,
  "still-red": 5,
  doubtful: 6,
  worse: 7,
};

/** Whether a new test fails on the old code. */
export function provesFix(checks: ChecksRecord | null): boolean {
  const { count = 0, passWithout = 0 } = checks?.newTests ?? {};
  return count > passWithout;
}

/** Compares by the checks: the outcome, weakened tests, what the checks show, the number of fixed tests. */
function compareByChecks(one: RankedCoderCandidate, other: RankedCoderCandidate): number {
  const places = ({ outcome, checks }: RankedCoderCandidate) => [
    OUTCOMES[outcome],
    checks?.weakensTests === true ? 1 : 0,
    VERDICTS[checks?.verdict ?? "not-checked"],
    -(checks?.mended?.length ?? 0),
  ];
  const [mine, theirs] = [places(one), places(other)];
  return mine.map((place, at) => place - (theirs[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** The best first, with the criterion that decides over the second: checks, a test that proves the fix, the smaller change. */
export function rankCoderCandidates<Candidate extends RankedCoderCandidate>(
  candidates: readonly Candidate[],
): { readonly ranked: readonly Candidate[]; readonly by: ChosenBy } {
  const proof = (one: RankedCoderCandidate, other: RankedCoderCandidate) =>
    Number(other.provesFix) - Number(one.provesFix);
  const size = (one: RankedCoderCandidate, other: RankedCoderCandidate) => one.size - other.size;
  const ranked = candidates.toSorted(
    (one, other) => compareByChecks(one, other) || proof(one, other) || size(one, other),
  );
  const [best, next] = ranked;
  if (best === undefined || next === undefined) return { ranked, by: "only" };
  if (compareByChecks(best, next) !== 0) return { ranked, by: "checks" };
  if (proof(best, next) !== 0) return { ranked, by: "test" };
  return { ranked, by: size(best, next) !== 0 ? "size" : "first" };
}

/** The items of a broken patch, completed by what its coder sent afterwards: the blocks that were missing, or all of it again. */
export function completeItems(kept: readonly PatchItem[], sent: readonly PatchItem[]): readonly PatchItem[] {
  const isSame = (one: PatchItem, other: PatchItem) =>
    !("unread" in one) &&
    !("unread" in other) &&
    one.target === other.target &&
    one.content === other.content;
  const isAllOfIt = kept.every((one) => "unread" in one || sent.some((other) => isSame(one, other)));
  const missing = kept.filter((one) => "unread" in one);
  if (isAllOfIt && missing.length < kept.length) return sent;
  let at = 0;
  return kept.flatMap((one) => {
    if (!("unread" in one)) return [one];
    const place = at++;
    if (sent.length === missing.length) return sent.slice(place, at);
    return place === 0 ? sent : [];
  });
}
