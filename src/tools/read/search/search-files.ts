import { ViewFault } from "../../../application/ports/view.ts";
import type { Workspace } from "../../../application/ports/jobs-workspace.ts";
import type { IgnoreMatcher } from "../../../domain/policy/ignored.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import { detectEncoding } from "../decode.ts";

export interface SearchMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export const LARGEST_BYTES = 16 * 1024 ** 2;
const LONGEST_LINE = 500;
/** A line longer than this is matched only so far: a pattern may take quadratic time. */
const MATCHED_CHARS = 20_000;
const LOOK_BYTES = 8192;

export interface FileSearch {
  readonly workspace: Workspace;
  readonly matches: (line: string) => boolean;
  /** Whether other encodings than UTF-8 and UTF-16 are recognised. */
  readonly anyEncoding: boolean;
  /** Asked at every line: a pattern may take very long on one. */
  readonly expired: () => boolean;
}

/** The matching lines of one file; none for a binary, a link, a folder, or a file that is too large. */
export function* searchFile(
  { workspace, matches, anyEncoding, expired }: FileSearch,
  path: string,
): Generator<SearchMatch> {
  const text = searchableText(workspace, path, anyEncoding);
  if (text === null) return;
  let line = 0;
  for (let at = 0; at < text.length && !expired(); ) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    line += 1;
    const whole = text.slice(at, end).replace(/\r$/, "");
    if (matches(whole.length > MATCHED_CHARS ? whole.slice(0, MATCHED_CHARS) : whole))
      yield { path, line, text: whole.length > LONGEST_LINE ? `${whole.slice(0, LONGEST_LINE)}…` : whole };
    at = end + 1;
  }
}

function searchableText({ files }: Workspace, path: string, anyEncoding: boolean): string | null {
  try {
    const entry = files.look(path);
    if (entry.kind !== "file" || entry.size === 0 || entry.size > LARGEST_BYTES) return null;
    const bytes = files.readPart(path, 0, entry.size);
    const encoding = detectEncoding(anyEncoding ? bytes : bytes.subarray(0, LOOK_BYTES), anyEncoding);
    if (encoding === "binary") return null;
    const wide = encoding.startsWith("utf-16");
    return new TextDecoder(wide || anyEncoding ? encoding : "utf-8").decode(bytes);
  } catch (error) {
    // Gone, or not readable: then it has no matches.
    if (error instanceof ViewFault) return null;
    throw error;
  }
}

/** Files below a place in order, links not followed. */
export function* filesBelow(
  { workspace: { files }, path: top }: ResolvedPath,
  ignored: IgnoreMatcher,
): Generator<string> {
  const pending = [top];
  while (pending.length > 0) {
    const path = pending.pop() as string;
    const entry = files.look(path);
    if (entry.kind === "file") yield path;
    if (entry.kind !== "directory") continue;
    let names: string[];
    try {
      names = files.list(path);
    } catch (error) {
      if (error instanceof ViewFault) continue;
      throw error;
    }
    for (const name of names.sort(byBytes).reverse()) {
      const below = path === "" ? name : `${path}/${name}`;
      if (!ignored.has(below, files.look(below).kind === "directory")) pending.push(below);
    }
  }
}

/** The order in which paths are searched, whoever found them: part by part. */
export function byPath(x: string, y: string): number {
  const [xs, ys] = [x.split("/"), y.split("/")];
  for (let at = 0; at < Math.min(xs.length, ys.length); at++) {
    const order = byBytes(xs[at] as string, ys[at] as string);
    if (order !== 0) return order;
  }
  return xs.length - ys.length;
}

function byBytes(x: string, y: string): number {
  return x < y ? -1 : x > y ? 1 : 0;
}
