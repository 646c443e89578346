/**
 * Edits that are found by matching, in one intermediate form for three formats.
 *
 * All text in here is *bytes as a latin1 string* (one char per byte, see `match/bytes.ts`), so that every
 * byte of a file that an edit does not touch survives, whatever its encoding.
 */
export type Edit =
  | { readonly kind: "diff"; readonly files: readonly DiffFile[] }
  | { readonly kind: "v4a"; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "search-replace"; readonly path: string; readonly hunk: Hunk };

export interface HunkLine {
  readonly tag: " " | "-" | "+";
  /** Without its line end. */
  readonly text: string;
  /** "\n", "\r\n", or "" for a line that is the last of its file and has no line end ("\ No newline…"). */
  readonly eol: string;
}

export interface Hunk {
  readonly lines: readonly HunkLine[];
  /** 1-based line the hunk claims to start at in the old file; only breaks ties. */
  readonly oldStart?: number;
  readonly newStart?: number;
  /** V4A `@@ class X` anchors, outermost first, or the text after `@@ -1,2 +1,2 @@` in a diff. */
  readonly anchors?: readonly string[];
  /** V4A `*** End of File`, or a diff hunk that git would pin to the end. */
  readonly atEnd?: boolean;
}

export type DiffFile =
  | (DiffPaths & { readonly change: "text"; readonly hunks: readonly Hunk[] })
  | (DiffPaths & { readonly change: "binary"; readonly forward: BinaryPatch; readonly reverse?: BinaryPatch });

/** Paths are workspace-relative, unquoted, without `a/` and `b/`. `null` is /dev/null. */
export interface DiffPaths {
  readonly oldPath: string | null;
  readonly newPath: string | null;
  readonly operation: "create" | "delete" | "modify" | "rename" | "copy";
  readonly oldMode?: number;
  readonly newMode?: number;
  readonly oldBlob?: string;
  readonly newBlob?: string;
}

export interface BinaryPatch {
  readonly method: "literal" | "delta";
  /** Size after inflating. */
  readonly size: number;
  /** Still deflated. */
  readonly data: Uint8Array;
}

/** What a planner may look at: the files of the view, no symlink followed. */
export interface FileSource {
  look(path: string): Found;
}
export type Found =
  | { readonly kind: "missing" }
  | { readonly kind: "file"; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly kind: "symlink"; readonly target: string }
  | { readonly kind: "directory" }
  | { readonly kind: "other" };

/** What is to be written, computed completely before the first write. */
export type FileWrite =
  | { readonly kind: "write"; readonly path: string; readonly bytes: Uint8Array; readonly mode?: number }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string }
  | { readonly kind: "delete"; readonly path: string };

export interface HunkReport {
  readonly path: string;
  /** 1-based position of the hunk within its file's edit. */
  readonly hunk: number;
  readonly status: "applied" | "already-applied" | "not-found" | "ambiguous" | "refused";
  /** Which rung of the ladder matched. */
  readonly strategy?: "exact" | "whitespace" | "look-alike" | "indent" | "drift";
  /** 1-based line where it was applied. */
  readonly line?: number;
  /** Where it might have been meant: 1-based line and the text that stands there. */
  readonly candidates?: readonly { readonly line: number; readonly text: string; readonly similarity: number }[];
  readonly message?: string;
}

export type EditPlan =
  | { readonly ok: true; readonly writes: readonly FileWrite[]; readonly reports: readonly HunkReport[] }
  | { readonly ok: false; readonly error: string; readonly reports: readonly HunkReport[] };
