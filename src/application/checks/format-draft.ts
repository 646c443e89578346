import { type FormatCall, type FormattedProject, findFormatCalls } from "../../domain/checks/formatters.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isLockFile, isSameFile } from "../../domain/platform/file-bytes.ts";
import { holdsNoSources } from "../../domain/policy/protection.ts";
import type { Draft } from "../ports/jobs-draft.ts";
import { readSmallFile } from "./baseline.ts";

export type FormattableDraft = Pick<Draft, "check" | "changes" | "diff" | "files" | "takeIn">;

export interface FormatDeps {
  readonly hasProgram?: (name: string) => boolean;
  readonly signal: AbortSignal;
}

const TIMEOUT_SECONDS = 60;
/** Larger files are generated ones. */
const MOST_BYTES = 512 * 1024;

type Contents = ReadonlyMap<string, Uint8Array>;

/** Returns the names of the formatters that changed a file. */
export type FormatDraft = (draft: FormattableDraft, attempt: number) => Promise<readonly string[]>;

/**
 * Formats what a draft changes: the formatter runs in a throw-away view, and only the changed files of the draft take its result.
 * A file that was not in the formatter's style before the change is left as it is, so that the change does not grow by lines that
 * the coder did not touch. A new file is formatted, unless the draft removes a file that was not in that style: it may be moved.
 */
export function createFormatter({ hasProgram = () => true, signal }: FormatDeps): FormatDraft {
  /** Contents that were formatted, or left alone, before. */
  const settled = new Map<string, Uint8Array>();

  async function run(
    draft: FormattableDraft,
    calls: readonly FormatCall[],
    how: { readonly attempt: number; readonly asBefore?: readonly string[] },
  ): Promise<Contents> {
    const read = calls.flatMap(({ paths }) => paths);
    if (read.length === 0) return new Map();
    const commands = calls.map(({ line }) => line);
    const more = { home: "bare", timeoutSeconds: TIMEOUT_SECONDS, signal } as const;
    const checked = await draft.check({ commands, over: "draft", read, ...how, ...more });
    // A formatter that did not exit by itself may have left half a file.
    const isWhole = checked.ok && checked.runs.every(({ outcome }) => outcome === "exited");
    return isWhole ? (checked.files ?? new Map()) : new Map();
  }

  return async (draft, attempt) => {
    const diff = draft.diff();
    const before = new Map(diff.flatMap(({ path, before: old }) => (old ? [[path, old] as const] : [])));
    const added = new Set(draft.changes().flatMap(({ path, kind }) => (kind === "added" ? [path] : [])));
    const isKnown = (path: string) => before.has(path) || added.has(path);
    const isNews = (path: string, bytes: Uint8Array) =>
      isFormattable(path, bytes) && isKnown(path) && !isSameFile(settled.get(path) ?? null, bytes);
    const after = new Map(
      diff.flatMap(({ path, after: bytes }) =>
        bytes && isNews(path, bytes) ? [[path, bytes] as const] : [],
      ),
    );
    const project = readProject(draft, hasProgram);
    const calls = findFormatCalls([...after.keys()], project);
    const formatted = await run(draft, calls, { attempt });
    for (const [path, bytes] of after) settled.set(path, bytes);
    const different = [...formatted].filter(
      ([path, bytes]) => bytes.length > 0 && !isSameFile(after.get(path) ?? null, bytes),
    );
    if (different.length === 0) return [];
    const removed = diff.flatMap(({ path, before: bytes, after: rest }) =>
      rest === null && bytes && isFormattable(path, bytes) ? [path] : [],
    );
    const earlier = [...different.flatMap(([path]) => (before.has(path) ? [path] : [])), ...removed];
    const old = await run(draft, findFormatCalls(earlier, project), { attempt, asBefore: earlier });
    const isOfStyle = (path: string) => isSameFile(old.get(path) ?? null, before.get(path) ?? null);
    const movesOther = removed.some((path) => old.has(path) && !isOfStyle(path));
    const edits = different.flatMap(([path, bytes]) => {
      const entry = draft.files.look(path);
      const fits = before.has(path) ? isOfStyle(path) : !movesOther;
      return fits && entry.kind === "file" ? [{ path, bytes, entry: { ...entry, size: bytes.length } }] : [];
    });
    if (edits.length === 0 || (await draft.takeIn(edits, null)) !== null) return [];
    for (const { path, bytes } of edits) settled.set(path, bytes);
    const changed = new Set(edits.map(({ path }) => path));
    return calls.flatMap(({ formatter, paths }) =>
      paths.some((path) => changed.has(path)) ? [formatter] : [],
    );
  };
}

function isFormattable(path: string, bytes: Uint8Array): boolean {
  const folders = path.split("/").slice(0, -1);
  return bytes.length <= MOST_BYTES && !isLockFile(path) && !folders.some(holdsNoSources);
}

/** Each folder is listed once: a draft may hold thousands of files of one folder. */
function readProject({ files }: FormattableDraft, isOnPath: (program: string) => boolean): FormattedProject {
  const listed = new Map<string, readonly string[]>();
  return {
    isOnPath,
    names(folder) {
      const names = listed.get(folder) ?? attemptOr([], () => files.list(folder));
      listed.set(folder, names);
      return names;
    },
    text: (path) => attemptOr("", () => readSmallFile(files, path, MOST_BYTES) ?? ""),
  };
}
