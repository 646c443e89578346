import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Conflict, EntryState as FirstStanding } from "../../application/ports/jobs-transaction.ts";
import type { View } from "../../application/ports/view.ts";
import type { Change } from "../../domain/jobs/result.ts";
import { hashHex } from "../platform/hash.ts";
import { type JobFolder, opSlotPath, readJson, writeDurably } from "../engine/job-folder.ts";

/** What stood at a path, and what stands there after the job: a file's bytes lie in slots on this machine. */
interface LoggedEdit {
  readonly path: string;
  readonly before: LoggedEntry;
  readonly after: LoggedEntry;
}

type LoggedEntry =
  | { readonly kind: "missing" | "directory" | "other" }
  /** Too large to be kept here: told as changed, not taken back. */
  | { readonly kind: "large"; readonly mode: number; readonly size: number }
  | { readonly kind: "symlink"; readonly target: string }
  | { readonly kind: "file"; readonly mode: number; readonly hash: string };

/**
 * The edits of one job in a container, so that a single edit can be taken back although the task as a whole is
 * undone by git: the bytes before and after, kept on this machine. Only what goes through the view is seen.
 */
export interface EditLog {
  /** Before a path changes. */
  note(path: string): void;
  /** Paths that differ from what they were. */
  changes(): Change[];
  /** What stood at a path at first; null when nothing did or it is not known. */
  look(path: string): FirstStanding | null;
  /** The bytes a path had at first; null when it was not a file or is not known. */
  original(path: string): Uint8Array | null;
  /** Puts every path back that this job changed, or those given. */
  putBack(paths?: readonly string[]): void;
  /** Keeps both sides of what changed. */
  keep(): readonly Change[];
}

export function createEditLog(
  view: Pick<View, "look" | "read" | "write" | "remove" | "makeSymlink">,
  folder: JobFolder,
): EditLog {
  const first = new Map<string, { readonly standing: LoggedEntry; readonly bytes: Uint8Array | null }>();
  const stands = (path: string) => loggedEntryAt(view, path);
  const changes = () =>
    [...first].flatMap(([path, { standing }]): Change[] => {
      const kind = changeKind(standing, stands(path).standing);
      return kind === null ? [] : [{ path, kind }];
    });
  return {
    note(path) {
      if (!first.has(path)) first.set(path, stands(path));
    },
    changes,
    look(path) {
      const standing = first.get(path)?.standing;
      if (standing === undefined || standing.kind === "missing") return null;
      const kind = standing.kind === "large" ? "file" : standing.kind;
      return { kind, mode: "mode" in standing ? standing.mode : 0o777 };
    },
    original: (path) => first.get(path)?.bytes ?? null,
    putBack(paths = [...first.keys()].reverse()) {
      for (const path of paths) {
        const known = first.get(path);
        if (known !== undefined) restoreLoggedEntry(view, path, known.standing, known.bytes);
      }
    },
    keep() {
      const changed = changes();
      const edits = changed.map(({ path }, n): LoggedEdit => {
        const before = first.get(path) as { standing: LoggedEntry; bytes: Uint8Array | null };
        const after = stands(path);
        if (before.bytes !== null) writeFileSync(opSlotPath(folder, n, "a"), before.bytes);
        if (after.bytes !== null) writeFileSync(opSlotPath(folder, n, "b"), after.bytes);
        return { path, before: before.standing, after: after.standing };
      });
      writeDurably(join(folder.path, "edits.json"), JSON.stringify(edits));
      return changed;
    },
  };
}

export type EditSwapOutcome =
  | { readonly ok: true; readonly changes: readonly Change[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] }
  | null;

/** Takes a kept job back, or brings it in again. Where a path is not as the job left it, nothing is touched. */
export function swapEdits(
  view: Pick<View, "look" | "read" | "write" | "remove" | "makeSymlink">,
  folder: JobFolder,
  direction: "undo" | "redo",
  force: boolean,
): EditSwapOutcome {
  const edits = readJson<readonly LoggedEdit[]>(join(folder.path, "edits.json"));
  if (edits === null) return null;
  const [from, to, side] =
    direction === "undo" ? (["after", "before", "a"] as const) : (["before", "after", "b"] as const);
  const conflicts = edits.flatMap((edit): Conflict[] =>
    isSameEntry(loggedEntryAt(view, edit.path).standing, edit[from])
      ? []
      : [{ path: edit.path, reason: "changed" }],
  );
  if (conflicts.length > 0 && !force) return { ok: false, conflicts };
  const numbered = edits.map((edit, n) => ({ edit, n }));
  for (const { edit, n } of direction === "undo" ? numbered.reverse() : numbered)
    restoreLoggedEntry(
      view,
      edit.path,
      edit[to],
      edit[to].kind === "file" ? readFileSync(opSlotPath(folder, n, side)) : null,
    );
  const changes = edits.flatMap(({ path, ...edit }): Change[] => {
    const kind = changeKind(edit[from], edit[to]);
    return kind === null ? [] : [{ path, kind }];
  });
  return { ok: true, changes };
}

const LARGEST_KEPT = 32 * 1024 ** 2;

function loggedEntryAt(view: Pick<View, "look" | "read">, path: string) {
  const entry = view.look(path);
  if (entry.kind === "symlink") return { standing: entry satisfies LoggedEntry, bytes: null };
  if (entry.kind !== "file") return { standing: { kind: entry.kind } satisfies LoggedEntry, bytes: null };
  if (entry.size > LARGEST_KEPT) {
    const { mode, size } = entry;
    return { standing: { kind: "large", mode, size } satisfies LoggedEntry, bytes: null };
  }
  const bytes = view.read(path);
  const standing: LoggedEntry = { kind: "file", mode: entry.mode, hash: hashHex("sha256", bytes) };
  return { standing, bytes };
}

/** Folders stay: what lies in one may be somebody else's. */
function restoreLoggedEntry(
  view: Pick<View, "look" | "write" | "remove" | "makeSymlink">,
  path: string,
  wanted: LoggedEntry,
  bytes: Uint8Array | null,
): void {
  switch (wanted.kind) {
    case "file":
      if (bytes !== null) view.write(path, bytes, wanted.mode);
      return;
    case "symlink":
      view.makeSymlink(path, wanted.target);
      return;
    case "missing": {
      const { kind } = view.look(path);
      if (kind === "file" || kind === "symlink") view.remove(path);
      return;
    }
    case "directory":
    case "large":
    case "other":
      return;
  }
}

function isSameEntry(x: LoggedEntry, y: LoggedEntry): boolean {
  return JSON.stringify(x) === JSON.stringify(y);
}

function changeKind(before: LoggedEntry, after: LoggedEntry): Change["kind"] | null {
  if (isSameEntry(before, after)) return null;
  if (before.kind === "missing") return "added";
  return after.kind === "missing" ? "deleted" : "modified";
}
