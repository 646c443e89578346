import type { PatchCommand } from "../command.ts";
import type { ParseFailure } from "../parse-error.ts";
import { createLineCounter, lineAfter } from "./line-offsets.ts";
import { readBlock, startOfBlock } from "./search-replace-block.ts";
import { SearchReplaceHunk } from "./search-replace-hunk.ts";
import { pathAbove } from "./search-replace-path.ts";

/**
 * SEARCH/REPLACE blocks. Each block is one command; one without a path of its own continues the file of the
 * block before it. What stands between blocks is prose. An empty SEARCH creates the file.
 */
export type SearchReplaceParse =
  | { readonly ok: true; readonly commands: readonly PatchCommand[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

const METADATA = { format: "search-replace" } as const;

export function looksLikeSearchReplace(text: string): boolean {
  return /^(<{5,9}|-{5,9}) ?SEARCH\b/m.test(text) && /^(>{5,9}|\+{5,9}) ?REPLACE\b/m.test(text);
}

/** `above` is prose that stands before the text and may name the file of its first block. */
export function parseSearchReplace(text: string, above = ""): SearchReplaceParse {
  const commands: PatchCommand[] = [];
  let path: string | null = null;
  let proseFrom = 0;
  for (let at = 0, next = at; at < text.length; at = next) {
    next = lineAfter(text, at);
    const start = startOfBlock(text, at);
    if (start === null) continue;
    const fail = (message: string): SearchReplaceParse => {
      const line = createLineCounter(text)(at);
      const failure = { message: `${message} (line ${line})`, line, index: commands.length };
      return { ok: false, failure: { code: "invalid-block", ...failure } };
    };
    path = pathOf(text, proseFrom, at, above) ?? path;
    if (path === null) return fail("the block has no file name above it");
    const block = readBlock(text, at, start);
    if (!block.ok) return fail(block.message);
    const { search, replace, startLine } = block;
    if (search.from === search.end && replace.from === replace.end)
      return fail("SEARCH and REPLACE are both empty");
    const hunk = new SearchReplaceHunk(text, search, replace, startLine);
    commands.push({
      type: "file_edit",
      action: "update",
      target: path,
      content: withoutCr(text.slice(at, block.next)),
      metadata: METADATA,
      edit: { kind: "search-replace", path, hunk },
    });
    proseFrom = block.next;
    next = block.next;
  }
  if (commands.length === 0) {
    return {
      ok: false,
      failure: { code: "not-a-patch", message: "no SEARCH/REPLACE block in the text", line: 1 },
    };
  }
  return { ok: true, commands, warnings: [] };
}

function pathOf(text: string, from: number, at: number, above: string): string | null {
  if (from > 0 || above === "") return pathAbove(text, from, at);
  const prose = `${above}\n${text.slice(0, at)}`;
  return pathAbove(prose, 0, prose.length);
}

/** Without carriage returns before line ends, and without the last line end. */
function withoutCr(block: string): string {
  const plain = block.includes("\r") ? block.replaceAll("\r\n", "\n").replace(/\r$/, "") : block;
  return plain.endsWith("\n") ? plain.slice(0, -1) : plain;
}
