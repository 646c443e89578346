import type { RefusedDestination } from "../policy/network.ts";

/** How the changes of a job are staged; `none` stages nothing and runs in the workspace itself. */
export type TransactionKind = "direct" | "overlay" | "copy" | "none";

/** Why a transaction kind was chosen. */
export type TransactionReason =
  | "file-edits-only"
  | "configured"
  | "overlay-available"
  | "no-bubblewrap"
  | "no-user-namespaces"
  | "mount-below-workspace"
  | "foreign-group"
  | "folds-case"
  | "not-linux"
  | "overlay-failed";

/** The effects that a job cannot undo. */
export type NotCovered = "network" | "daemons" | "other-folders" | "forge";

/** A commit, undo or redo that was cut off, as by a kill or a power cut. */
export interface Interruption {
  readonly direction: "commit" | "undo" | "redo";
  /** `open`: not repaired yet. `taken-back`: everything is as before. */
  readonly outcome: "open" | "finished" | "taken-back";
  /** Paths that were edited before the repair, which left them unchanged. */
  readonly left: readonly string[];
  /** Absent if everything could be put back. */
  readonly aside?: KeptAside;
}

/** Entries of before a swap whose folder is gone or whose path is occupied since. Only the user removes them. */
export interface KeptAside {
  /** Where they lie, each under its path; absolute. */
  readonly folder: string;
  /** Their original paths. */
  readonly paths: readonly string[];
  /** The folder is not there any more: a person removed it, or moved it away. */
  readonly removed?: true;
}

/** The current files of an interrupted swap that is not repaired yet, by the user's paths. */
export interface InterruptedFiles {
  /** As before the job; one that the job adds is absent. */
  readonly before: readonly string[];
  /** As the job left it; one that the job deletes is absent. */
  readonly after: readonly string[];
  /** Absent, though both sides have one. */
  readonly moved: readonly {
    readonly path: string;
    /** The absolute path of the earlier file. Null if it is not found. */
    readonly at: string | null;
  }[];
  /** Changed since by the user or another program. */
  readonly edited: readonly string[];
}

/** An interrupted swap that no process is working on. */
export interface OpenInterruption {
  readonly jobId: string;
  readonly direction: Interruption["direction"];
  /** Null where the record that names them cannot be read. */
  readonly files: InterruptedFiles | null;
}

/** The entries that one job's roll-back kept aside, as they are now. */
export interface KeptAsideFolder {
  readonly jobId: string;
  /** Absolute. */
  readonly folder: string;
  /** Without folders. */
  readonly files: number;
  readonly bytes: number;
}

/**
 * The entries that a seal did not carry over, or carried over differently than the job left them. `special`,
 * `device`, `unreadable`: not committed. `hidden`: the job could not see it. `holds-hidden`: a folder that
 * stays for that reason. `owner`, `group`: a changed file that could not keep them. `other-names`: hard links
 * that part. `folder-owner`, `folder-attributes`: the job's changes to a folder that existed before. `power`: set-user-id, set-group-id and sticky bits that were taken off. `root-mode`: that of the workspace's own folder. `times`: nothing else was changed. `home-unusable`: the
 * home that jobs share could not be used by the next, and was put aside.
 */
export type SealedOtherwise =
  | "special"
  | "device"
  | "unreadable"
  | "hidden"
  | "holds-hidden"
  | "stale-lock"
  | "home-unusable"
  | "owner"
  | "group"
  | "other-names"
  | "folder-owner"
  | "folder-attributes"
  | "power"
  | "root-mode"
  | "times";

export interface SealNote {
  readonly code: "sealed-otherwise";
  readonly what: SealedOtherwise;
  /** The first of them. */
  readonly paths: readonly string[];
  readonly count: number;
}

const KEPT = 20;

export function sealNote(what: SealedOtherwise, ...paths: readonly string[]): SealNote {
  return { code: "sealed-otherwise", what, paths: paths.slice(0, KEPT), count: paths.length };
}

/** One note for each kind, in the order in which they first came. */
export function gatherSealNotes(notes: readonly SealNote[]): SealNote[] {
  const gathered = new Map<SealedOtherwise, SealNote>();
  for (const { what, paths, count } of notes) {
    const before = gathered.get(what) ?? sealNote(what);
    const all = before.paths.length < KEPT ? [...before.paths, ...paths].slice(0, KEPT) : before.paths;
    gathered.set(what, { ...before, paths: all, count: before.count + count });
  }
  return [...gathered.values()];
}

/**
 * Information for the user about a job or a command beside its success. A fact is worded for its reader; a
 * text is used as it is, because it is a path, a program's own words, or from a job of an older version.
 */
export type Note = string | NoteFact;

/** The exit code, or why there is none. `not-run`: the hook could not be started, or was ended. */
export type HookEnd = number | "timeout" | "not-run";

export interface HookRun {
  readonly command: string;
  readonly ended: HookEnd;
  readonly output: string;
}

export type NoteFact =
  | SealNote
  | { readonly code: "staging"; readonly kind: TransactionKind; readonly reason: TransactionReason }
  | { readonly code: "not-covered"; readonly what: readonly NotCovered[] }
  | { readonly code: "auto-commit-failed"; readonly error: string }
  /** `by`: the job whose change it was; null where it was made outside of PicoClaw. `lost`: the coder saw it and replaced it. */
  | { readonly code: "merged"; readonly path: string; readonly by: string | null; readonly lost?: true }
  /** A hook that did not let the job land. */
  | (HookRun & { readonly code: "hook-refused" })
  /** A hook after the fact that failed; nothing depends on it. */
  | (HookRun & { readonly code: "hook-failed"; readonly moment: string })
  | {
      readonly code:
        | "protected-restored"
        | "protected-created"
        | "protected-logged"
        | "filter-unknown"
        | "home-hidden"
        | "home-left-out"
        /** A damaged record of the job's undo data was rebuilt without these. */
        | "rebuilt";
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
      readonly code: "memory-ran-out";
    }
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

/** Thousands of files of one tool are one name: its own, or with a folder that many share. */
export function homeLeftOut(paths: readonly string[]): NoteFact {
  const named = paths.map((path) => {
    const parts = path.split("/");
    const dot = parts.findIndex((part) => part.startsWith("."));
    const depth = dot + (SHARED_FOLDERS.has(parts[dot] ?? "") ? (parts[dot] === ".local" ? 3 : 2) : 1);
    return dot < 0 ? path : parts.slice(0, depth).join("/");
  });
  return { code: "home-left-out", paths: [...new Set(named)].slice(0, KEPT) };
}

const SHARED_FOLDERS: ReadonlySet<string> = new Set([".config", ".cache", ".local"]);

/** The hook that did not let a job land; undefined: none, or it has landed since. */
export function findHookRefusal(notes: readonly Note[]) {
  return notes.find(isHookRefusal);
}

export function isHookRefusal(note: Note): note is Extract<NoteFact, { code: "hook-refused" }> {
  return typeof note !== "string" && note.code === "hook-refused";
}

/** A swap that was cut off, and was settled since. */
export interface RepairedNote {
  readonly code: "repaired";
  readonly jobId: string;
  readonly direction: Interruption["direction"];
  readonly outcome: "finished" | "taken-back";
  /** Left out of it. */
  readonly paths: readonly string[];
  readonly aside?: KeptAside;
}

/** Secrets go from every text in a note. */
export function maskNote(note: Note, mask: (text: string) => string): Note {
  if (typeof note === "string") return mask(note);
  if ("paths" in note) return { ...note, paths: note.paths.map(mask) };
  if ("path" in note) return { ...note, path: mask(note.path) };
  if ("error" in note) return { ...note, error: mask(note.error) };
  return "host" in note ? { ...note, host: mask(note.host) } : note;
}
