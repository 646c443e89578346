import type { PatchCommand } from "../command.ts";
import { toBytesText } from "../match/bytes.ts";
import type { ParseFailure } from "../parse-error.ts";
import { readBlock, startOfBlock } from "./search-replace-block.ts";
import { hunkOf } from "./search-replace-hunk.ts";
import { pathAbove } from "./search-replace-path.ts";

/**
 * SEARCH/REPLACE blocks. Each block is one command; one without a path of its own continues the file of the
 * block before it. What stands between blocks is prose. An empty SEARCH creates the file.
 */
export type SearchReplaceParse =
  | { readonly ok: true; readonly commands: readonly PatchCommand[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

export function looksLikeSearchReplace(text: string): boolean {
  return /^(<{5,9}|-{5,9}) ?SEARCH\b/m.test(text) && /^(>{5,9}|\+{5,9}) ?REPLACE\b/m.test(text);
}

export function parseSearchReplace(text: string): SearchReplaceParse {
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const commands: PatchCommand[] = [];
  let path: string | null = null;
  let proseFrom = 0;
  for (let at = 0; at < lines.length; at++) {
    const start = startOfBlock(lines[at]!);
    if (start === null) continue;
    const fail = (message: string, line = at): SearchReplaceParse => ({
      ok: false,
      failure: {
        code: "invalid-block",
        message: `${message} (line ${line + 1})`,
        line: line + 1,
        index: commands.length,
      },
    });
    path = pathAbove(lines, at, proseFrom) ?? path;
    if (path === null) return fail("the block has no file name above it");
    const block = readBlock(lines, at, start);
    if (!block.ok) return fail(block.message, block.line);
    if (block.search.length === 0 && block.replace.length === 0)
      return fail("SEARCH and REPLACE are both empty");
    const hunk = hunkOf(block.search.map(toBytesText), block.replace.map(toBytesText), block.startLine);
    commands.push({
      type: "file_edit",
      action: "update",
      target: path,
      content: lines.slice(at, block.next).join("\n"),
      metadata: { format: "search-replace" },
      edit: { kind: "search-replace", path, hunk },
    });
    proseFrom = block.next;
    at = block.next - 1;
  }
  if (commands.length === 0) {
    return {
      ok: false,
      failure: { code: "not-a-patch", message: "no SEARCH/REPLACE block in the text", line: 1 },
    };
  }
  return { ok: true, commands, warnings: [] };
}
