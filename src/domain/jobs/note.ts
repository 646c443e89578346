import type { RefusedDestination } from "../policy/network.ts";
import type { Interruption } from "./interruption.ts";
import type { SealNote } from "./seal-note.ts";
import type { NotCovered, TransactionKind, TransactionReason } from "./transaction-kind.ts";

/**
 * What the user should know of a job or a command beside its success. A fact is worded for whoever reads it; a text
 * stands as it is, because it is a path, a program's own words, or came from a job of an older version.
 */
export type Note = string | NoteFact;

export type NoteFact =
  | SealNote
  | { readonly code: "staging"; readonly kind: TransactionKind; readonly reason: TransactionReason }
  | { readonly code: "not-covered"; readonly what: readonly NotCovered[] }
  | { readonly code: "auto-commit-failed"; readonly error: string }
  | {
      readonly code:
        | "protected-restored"
        | "protected-created"
        | "protected-logged"
        | "filter-unknown"
        | "home-hidden";
      readonly paths: readonly string[];
    }
  | {
      readonly code: "host-refused";
      readonly host: string;
      readonly reason: RefusedDestination;
      readonly count: number;
    }
  | RepairedNote
  | { readonly code: "network-limited"; readonly network: "off" | "allow-list" }
  | {
      readonly code: "limit-met";
      readonly limit: "memory" | "file_size" | "open_files" | "processes";
      readonly value: number;
    }
  | {
      readonly code:
        | "not-confined"
        | "limited"
        | "shell-not-undoable"
        | "undone-by-task"
        | "identity-fallback"
        | "signing-skipped"
        | "rename-across-layers"
        | "link-across-layers"
        | "foreign-owner"
        | "foreign-owner-met";
    };

/** A swap that was cut off, and was settled since. */
export interface RepairedNote {
  readonly code: "repaired";
  readonly jobId: string;
  readonly direction: Interruption["direction"];
  readonly outcome: "finished" | "taken-back";
  /** Left out of it. */
  readonly paths: readonly string[];
}

/** Secrets go from every text in a note. */
export function maskNote(note: Note, mask: (text: string) => string): Note {
  if (typeof note === "string") return mask(note);
  if ("paths" in note) return { ...note, paths: note.paths.map(mask) };
  if ("error" in note) return { ...note, error: mask(note.error) };
  return "host" in note ? { ...note, host: mask(note.host) } : note;
}
