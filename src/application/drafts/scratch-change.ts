/*
 * Reads what a coder's runs left in a scratch view as edits of its draft.
 * In: the job's layers, the name of the view, the rules of protected paths. Out: edits by exact bytes and modes, and the
 * paths that no proposal takes from there: protected and ignored ones, and the folders and caches of tools.
 * Invariant: nothing runs in the view while it is read, and the view stays as it was.
 */
import { attemptOr } from "../../domain/platform/error-text.ts";
import { decodeText, isSameFile } from "../../domain/platform/file-bytes.ts";
import { createIgnoreMatcher } from "../../domain/platform/ignore-rules.ts";
import { findCaches, holdsGitName, holdsNoSources, type Protection } from "../../domain/policy/protection.ts";
import type { LeftOutPath, ScratchChange } from "../ports/jobs-draft.ts";
import type { Layers } from "../ports/jobs-transaction.ts";
import type { Entry, TakenEdit, WorkspaceFiles } from "../ports/platform-view.ts";

const MOST_FILES = 2_000;
const MOST_BYTES = 32 * 1024 ** 2;

export async function readScratchChange(
  { openCheck, files }: Pick<Layers, "openCheck" | "files">,
  protection: Protection,
  scratch: string,
): Promise<ScratchChange> {
  const opened = await openCheck?.({
    over: "draft",
    startedBy: "model",
    network: false,
    home: "whole",
    built: true,
    scratch,
  });
  if (opened?.ok !== true) return { ok: false, message: opened?.message ?? "there is no scratch view here" };
  try {
    const { view, touched, hiddenFiles = [] } = opened.check;
    if (touched === undefined) return { ok: false, message: "there is no scratch view here" };
    const hidden = new Set(hiddenFiles);
    const isKept = (path: string) => hidden.has(path) || isProtected(protection, path);
    return collect(view, files, isKept, touched());
  } finally {
    await opened.check.close();
  }
}

type Side = Pick<WorkspaceFiles, "look" | "list" | "read">;

/** Compares both sides at each path, and below it where it is a folder. */
function collect(
  after: Side,
  before: Side,
  isKept: (path: string) => boolean,
  touched: readonly string[],
): ScratchChange {
  const ignored = createIgnoreMatcher({
    includeIgnored: false,
    read: (path) => (entryAt(after, path).kind === "file" ? decodeText(after.read(path)) : null),
  });
  const caches = findCaches(touched);
  const isTools = (path: string) =>
    path.split("/").some(holdsNoSources) || caches.has(path) || findCaches([path]).has(path);
  const edits: TakenEdit[] = [];
  const left: LeftOutPath[] = [];
  const seen = new Set<string>();
  const pending = [...touched].reverse();
  let bytes = 0;
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (seen.has(path) || holdsGitName(path)) continue;
    seen.add(path);
    const [old, now] = [entryAt(before, path), entryAt(after, path)];
    const isFolder = now.kind === "directory" || (now.kind === "missing" && old.kind === "directory");
    if (isTools(path)) left.push({ path, why: "tools" });
    else if (ignored.has(path, isFolder)) left.push({ path, why: "ignored" });
    else if (isKept(path)) left.push({ path, why: "protected", isOwn: old.kind !== "missing" });
    else {
      const sides = [now.kind === "directory" ? after : null, old.kind === "directory" ? before : null];
      for (const side of sides) pending.push(...(side?.list(path) ?? []).map((name) => `${path}/${name}`));
      if (now.kind === "other" || isSame({ path, old, now }, before, after)) continue;
      const edit = { path, entry: now, bytes: now.kind === "file" ? after.read(path) : null };
      bytes += edit.bytes?.length ?? 0;
      edits.push(edit);
      if (edits.length > MOST_FILES || bytes > MOST_BYTES)
        return { ok: false, message: `the scratch view changed more than ${MOST_FILES} files or 32 MiB` };
    }
  }
  // A folder stays as long as something in it is left out.
  const stays = (folder: string) => left.some(({ path }) => path.startsWith(`${folder}/`));
  return {
    ok: true,
    edits: edits.filter(({ path, entry }) => entry.kind !== "missing" || !stays(path)),
    left,
  };
}

function isProtected({ protects, forbids, ofHome }: Protection, path: string): boolean {
  return protects(path) !== null || forbids(path) !== null || ofHome(path) !== null;
}

/** Below a file or a link is nothing. */
function entryAt(side: Side, path: string): Entry {
  return attemptOr({ kind: "missing" }, () => side.look(path));
}

/** New empty folders are no change, as for git. */
function isSame(
  { path, old, now }: { readonly path: string; readonly old: Entry; readonly now: Entry },
  before: Side,
  after: Side,
): boolean {
  if (now.kind === "directory") return old.kind === "directory" || old.kind === "missing";
  if (old.kind !== now.kind) return false;
  if (now.kind === "symlink") return old.kind === "symlink" && old.target === now.target;
  if (now.kind !== "file" || old.kind !== "file") return true;
  return (old.mode & 0o111) === (now.mode & 0o111) && isSameFile(before.read(path), after.read(path));
}
