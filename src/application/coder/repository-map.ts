import { SOURCE } from "../../domain/coder/file-kind.ts";
import type { ProjectFiles } from "../ports/coder.ts";

interface MapRequest {
  readonly request: string;
  /** Shown whole already; named without symbols. */
  readonly shown: ReadonlySet<string>;
  readonly limit: number;
}

/** Files whose symbols are looked up; reading more would cost more than the map is worth. */
const MOST_READ = 60;
const READ_CHARS = 20_000;
const SYMBOLS_SHOWN = 12;

/**
 * One line a file, with what it exports: sources before other files, those that share words with the message before
 * the rest. Where not all fit, the last line says how many are missing.
 */
export function repositoryMap(
  project: ProjectFiles,
  paths: readonly string[],
  { request, shown, limit }: MapRequest,
): string {
  const words = new Set((request.toLowerCase().match(/[a-z0-9]{3,}/g) ?? []).slice(0, 200));
  const ranked = paths
    .map((path, at) => ({ path, at, rank: rankOf(path, words) }))
    .sort((a, b) => b.rank - a.rank || a.at - b.at);
  const lines: string[] = [];
  let left = limit;
  let read = 0;
  for (const { path } of ranked) {
    let line = path;
    if (!shown.has(path) && read < MOST_READ && SOURCE.test(path) && left > 400) {
      read++;
      const symbols = symbolsOf(project.read(path, READ_CHARS)?.text ?? "");
      if (symbols.length > 0) line = `${path}: ${symbols.join(", ")}`;
    }
    if (line.length + 1 > left) line = path;
    if (line.length + 1 > left) break;
    lines.push(line);
    left -= line.length + 1;
  }
  if (lines.length < paths.length) lines.push(`… and ${paths.length - lines.length} more`);
  return lines.join("\n");
}

function rankOf(path: string, words: ReadonlySet<string>): number {
  const parts = path.toLowerCase().match(/[a-z0-9]{3,}/g) ?? [];
  const shared = parts.filter((part) => words.has(part)).length;
  return (
    shared * 3 + (SOURCE.test(path) ? 2 : 0) - (/(?:^|\/)(?:tests?|spec|fixtures|docs)\//.test(path) ? 1 : 0)
  );
}

/** By light patterns, in the order of the file: what a reader would look for, not a parse. */
const PATTERNS = [
  /^export\s+(?:default\s+)?(?:async\s+)?(?:abstract\s+)?(?:function\*?|class|const|let|interface|type|enum)\s+([\w$]+)/gm,
  /^(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:fn|struct|enum|trait)\s+(\w+)/gm,
  /^(?:async\s+)?(?:def|class)\s+(\w+)/gm,
  /^func\s+(?:\([^)]*\)\s*)?([A-Z]\w*)/gm,
  /^(?:module\.)?exports\.(\w+)\s*=/gm,
  /^(?:public\s+|final\s+|abstract\s+)*(?:class|interface|record)\s+(\w+)/gm,
];

export function symbolsOf(text: string): string[] {
  const found: { name: string; at: number }[] = [];
  for (const pattern of PATTERNS)
    for (const match of text.matchAll(pattern)) found.push({ name: match[1] as string, at: match.index });
  const names = found.sort((a, b) => a.at - b.at).map(({ name }) => name);
  return [...new Set(names)].slice(0, SYMBOLS_SHOWN);
}
