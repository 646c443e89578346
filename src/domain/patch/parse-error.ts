import type { PatchCommand } from "./command.ts";

/** Why a text is not a patch. Nothing ran; exit code 2. */
export interface ParseFailure {
  readonly code:
    | "not-a-patch"
    | "invalid-json"
    | "invalid-command"
    | "invalid-diff"
    | "invalid-v4a"
    | "invalid-block"
    | "too-large";
  /** English and technical: `command[2]: target is required`. */
  readonly message: string;
  /** 0-based command index, when one is to blame. */
  readonly index?: number;
  readonly field?: string;
  readonly value?: string;
  /** 1-based line of the patch text. */
  readonly line?: number;
}

export type ParseResult =
  | {
      readonly ok: true;
      readonly commands: readonly PatchCommand[];
      readonly warnings: readonly string[];
      readonly format: PatchFormat;
    }
  | { readonly ok: false; readonly failure: ParseFailure };

/** `mixed` is a reply that holds more than one of the others. */
export type PatchFormat = "empty" | "json" | "markdown" | "diff" | "v4a" | "search-replace" | "mixed";
