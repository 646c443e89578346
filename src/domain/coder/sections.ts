import { walkReply } from "../patch/formats/markdown/walk-reply.ts";

export type SectionName = "plan" | "patch" | "risk" | "cost" | "flags" | "files" | "search";

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
};

export interface Sections {
  /** Text before the first heading. */
  readonly lead: string;
  readonly named: Readonly<Partial<Record<SectionName, string>>>;
}

/**
 * The `## Plan`, `## Patch`, `## Risk` and `## Cost` of an answer. Only a heading outside of fences, raw diffs,
 * SEARCH/REPLACE blocks and JSON counts, and only one of these names ends a section: a patch may hold any other
 * `##`, and any heading at all inside of a file. A name that comes again goes on with its section.
 */
export function readSections(text: string): Sections {
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
  /** What stood behind the name on its line: `## Risk: low`. */
  readonly rest: string;
}

function headingsOf(text: string): Heading[] {
  const headings: Heading[] = [];
  let from = 0;
  for (const piece of walkReply(text)) {
    collect(text, from, piece.kind === "block" ? piece.opens : piece.start, headings);
    // A diff without a fence has no end of its own, but none of its lines begins with a hash.
    if (piece.kind === "raw" && piece.format === "diff")
      collect(text, piece.start, piece.end, headings, "flush");
    from = piece.end;
  }
  collect(text, from, text.length, headings);
  return headings;
}

const HEADING =
  /^ {0,3}#{1,3}[ \t]+(?:\*\*)?([^\s:：*#][^:：*#\n]*?)(?:\*\*)?[ \t]*(?:[:：](?:\*\*)?[ \t]*(.*?))?[ \t#]*\r?$/gm;

function collect(text: string, from: number, to: number, into: Heading[], where?: "flush"): void {
  HEADING.lastIndex = 0;
  const part = text.slice(from, to);
  for (const match of part.matchAll(HEADING)) {
    const name = NAMES[(match[1] ?? "").trim().toLowerCase()];
    if (name === undefined || (where === "flush" && !match[0].startsWith("#"))) continue;
    const start = from + match.index;
    const newline = text.indexOf("\n", start + match[0].length);
    const bodyStart = newline === -1 ? text.length : newline + 1;
    into.push({ name, start, bodyStart, rest: match[2] ? `${match[2]}\n` : "" });
  }
}
