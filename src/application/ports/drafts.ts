import type { CheckedFiles } from "../../domain/drafts/check-edits.ts";
import type { PlanOptions } from "../../domain/patch/plan-edit.ts";

/** The files that a coder may be shown: none that is ignored, protected or linked; secrets are masked. */
export interface ProjectFiles {
  /** Paths nearest the root first, at most `limit`. */
  list(limit: number): readonly string[];
  /** Null for a file that is missing, not text, or not to be shown. Cut at the limit. */
  read(path: string, limitChars: number): { readonly text: string; readonly cut: boolean } | null;
  /** Bytes of a file, which is not read for that; 0 where there is none. */
  sizeOf(path: string): number;
  /**
   * Which words occur in which files, in the given order, until the time is over. Binary files have none.
   * Of long files the beginning is read, and a word in any case is looked for as a name, at its beginning and as a constant.
   * `whole`: files are read to their end, and any mixture of cases is a hit.
   */
  find(paths: readonly string[], words: readonly SoughtWord[], limitMs: number, reach?: "whole"): FoundWords;
  readonly source: CheckedFiles;
  readonly planOptions: PlanOptions;
}

export interface SoughtWord {
  /** Any of them is a hit. */
  readonly spellings: readonly string[];
  readonly anyCase: boolean;
}

export interface FoundWords {
  /** Only files with a hit; the words by their place in the list. */
  readonly hits: readonly { readonly path: string; readonly terms: readonly number[] }[];
  readonly searched: number;
}
