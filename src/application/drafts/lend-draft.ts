import { isLockFile, isSameFile } from "../../domain/platform/file-bytes.ts";
import type { Draft } from "../ports/jobs-draft.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { TakenEdit, WorkspaceFiles } from "../ports/platform-view.ts";
import { type ContestedFile, textOf, wordVersion } from "./shown-files.ts";

/** A coder's draft, lent to sub-agents: each works in a draft over a copy of it, which is merged back as in a landing. */
export interface Lending {
  readonly jobId: string;
  readonly journal: Draft["journal"];
  lend(source: string): LentDraft;
}

export interface LentDraft {
  /** The files that the sub-agent is shown: those of its draft, or of the lender until it has one. */
  readonly files: WorkspaceFiles;
  readonly openDraft: Workspace["openDraft"];
  /** Merges the sub-agent's draft into the lender, except contested files. Several sub-agents are merged one after the other. */
  giveBack(attempt: number, contested?: readonly ContestedFile[]): Promise<ReturnedWork>;
}

export interface ReturnedWork {
  /** Paths that the lender took, unchanged or merged. */
  readonly taken: readonly string[];
  /** Those of them that also contain a change of others. */
  readonly merged: readonly string[];
  /** Files that both the sub-agent and another coder changed: the lender keeps its own version. */
  readonly conflicts: readonly ContestedFile[];
  /** Commands that failed when they ran again over changes of others: their files are missing. */
  readonly failed: readonly string[];
  /** Why nothing could be written; empty if it could. */
  readonly trouble: string;
}

export interface LendingDeps {
  readonly workspace: Pick<Workspace, "openDraft" | "files">;
  readonly lender: Draft;
  readonly onTaken: (paths: readonly string[]) => void;
}

/** A larger draft is not copied for sub-agents: a coder that installed dependencies continues alone. */
const MOST_COPIED_FILES = 2_000;
const MOST_COPIED_BYTES = 64 * 1024 * 1024;

export function createLending({ workspace, lender, onTaken }: LendingDeps): Lending {
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(use: () => Promise<T>): Promise<T> => {
    const next = turn.then(use);
    turn = next.catch(() => {});
    return next;
  };
  return {
    jobId: lender.id,
    journal: (event) => lender.journal(event),
    lend(source) {
      let draft: Draft | null = null;
      // A copy of the current state: work that other sub-agents return later is not part of it.
      const edits = copyChanges(lender);
      const copied = new Map((edits ?? []).map((edit) => [edit.path, edit]));
      const shown = () => (draft ?? lender).files;
      return {
        files: {
          look: (path) => shown().look(path),
          list: (path) => shown().list(path),
          read: (path) => shown().read(path),
          readPart: (path, offset, length) => shown().readPart(path, offset, length),
        },
        openDraft: (request) =>
          inTurn(async () => {
            if (edits === null)
              return {
                ok: false,
                refusal: { code: "failed", message: "the draft holds too much for a sub-agent" },
              };
            const opened = await workspace.openDraft({ ...request, source, autoCommit: false });
            if (!opened.ok) return opened;
            const refusal = edits.length === 0 ? null : await opened.draft.takeIn(edits, 0);
            if (refusal !== null) {
              await opened.draft.discard(refusal.message);
              return { ok: false, refusal };
            }
            draft = opened.draft;
            return opened;
          }),
        giveBack: (attempt, contested = []) =>
          inTurn(async () => {
            if (draft === null) return { taken: [], merged: [], conflicts: [], failed: [], trouble: "" };
            const returned = await mergeInto({ lender, draft, copied, workspace, attempt, contested });
            onTaken(returned.taken);
            return returned;
          }),
      };
    },
  };
}

/** The changes of a draft, for another one; null if it is too much. */
export function copyChanges(draft: Draft): TakenEdit[] | null {
  const paths = changedPaths(draft);
  if (paths.length > MOST_COPIED_FILES) return null;
  const edits: TakenEdit[] = [];
  let left = MOST_COPIED_BYTES;
  for (const path of paths) {
    const edit = readEdit(draft.files, path);
    left -= edit.bytes?.length ?? 0;
    if (left < 0) return null;
    edits.push(edit);
  }
  return edits;
}

/** Git's own files are not exchanged between drafts. */
function changedPaths(draft: Draft): string[] {
  return draft
    .changes()
    .map(({ path }) => path)
    .filter((path) => !/(^|\/)\.git(\/|$)/.test(path) && !path.startsWith("../"));
}

function readEdit(files: WorkspaceFiles, path: string): TakenEdit {
  const entry = files.look(path);
  return { path, entry, bytes: entry.kind === "file" ? files.read(path) : null };
}

interface ReturnDeps extends Pick<LendingDeps, "lender" | "workspace"> {
  readonly draft: Draft;
  /** The files of the sub-agent's start that differed from the workspace. */
  readonly copied: ReadonlyMap<string, TakenEdit>;
  readonly attempt: number;
  readonly contested: readonly ContestedFile[];
}

/** Rebases the sub-agent's draft onto the workspace and merges it into the lender, file by file, with the sub-agent's start as base. */
async function mergeInto(deps: ReturnDeps): Promise<ReturnedWork> {
  const { lender, draft, copied, workspace, attempt } = deps;
  const rebased = await draft.rebase();
  const failed = rebased.failed.map(({ command }) => command.target);
  const contested = new Map<string, ContestedFile>();
  for (const { path, base, ours } of rebased.conflicts)
    contested.set(path, { path, shown: textOf(base), yours: textOf(ours) });
  for (const one of deps.contested) contested.set(one.path, one);
  const conflicts = [...contested.values()];
  const edits: TakenEdit[] = [];
  const merged = new Set<string>();
  const baseOf = (path: string) => copied.get(path) ?? readEdit(workspace.files, path);
  const toConflict = (ours: TakenEdit): ContestedFile => ({
    path: ours.path,
    shown: textIn(baseOf(ours.path)),
    yours: textIn(ours),
  });
  for (const path of new Set([...changedPaths(draft), ...copied.keys()])) {
    if (contested.has(path)) continue;
    const ours = readEdit(draft.files, path);
    const result = await mergeEntry(baseOf(path), ours, readEdit(lender.files, path));
    if (result === "nothing") continue;
    if (result === "conflict") conflicts.push(toConflict(ours));
    else edits.push(result);
    if (typeof result !== "string" && result !== ours) merged.add(path);
  }
  const { fitting, unfitting } = findFitting(lender.files, edits);
  conflicts.push(...unfitting.map(toConflict));
  const refusal = fitting.length === 0 ? null : await lender.takeIn(fitting, attempt);
  if (refusal !== null) return { taken: [], merged: [], conflicts, failed, trouble: refusal.message };
  const taken = fitting.map(({ path }) => path);
  return { taken, merged: taken.filter((path) => merged.has(path)), conflicts, failed, trouble: "" };
}

/** Leaves out edits that entries of another coder block; a folder with another coder's file is not deleted. */
function findFitting(
  lender: WorkspaceFiles,
  edits: readonly TakenEdit[],
): { readonly fitting: readonly TakenEdit[]; readonly unfitting: readonly TakenEdit[] } {
  const fitting = new Map(edits.map((edit) => [edit.path, edit]));
  const unfitting: TakenEdit[] = [];
  const byDepth = [...edits].sort((x, y) => x.path.length - y.path.length);
  for (const edit of byDepth.toReversed()) {
    const { path, entry } = edit;
    if (entry.kind === "directory" || lender.look(path).kind !== "directory") continue;
    const isMissing = (name: string) => fitting.get(`${path}/${name}`)?.entry.kind === "missing";
    if (lender.list(path).every(isMissing)) continue;
    fitting.delete(path);
    if (entry.kind !== "missing") unfitting.push(edit);
  }
  const isFolder = (path: string) => {
    const { kind } = fitting.get(path)?.entry ?? lender.look(path);
    return kind === "directory" || kind === "missing";
  };
  for (const edit of byDepth) {
    if (edit.entry.kind === "missing" || !fitting.has(edit.path)) continue;
    if (foldersAbove(edit.path).every(isFolder)) continue;
    fitting.delete(edit.path);
    unfitting.push(edit);
  }
  return { fitting: [...fitting.values()], unfitting };
}

function foldersAbove(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join("/"));
}

async function mergeEntry(
  base: TakenEdit,
  ours: TakenEdit,
  theirs: TakenEdit,
): Promise<TakenEdit | "nothing" | "conflict"> {
  if (isSameEntry(ours, base) || isSameEntry(ours, theirs)) return "nothing";
  if (isSameEntry(base, theirs)) return ours;
  const kinds = [base, ours, theirs].map(({ entry }) => entry.kind);
  if (kinds.some((kind) => kind !== "file") || isLockFile(ours.path)) return "conflict";
  const { mergeFile } = await import("../../domain/platform/merge.ts");
  const result = mergeFile({ base: base.bytes, ours: ours.bytes, theirs: theirs.bytes });
  switch (result.kind) {
    case "same":
    case "theirs":
      return "nothing";
    case "ours":
      return ours;
    case "clean":
      return { ...ours, bytes: result.bytes };
    case "conflict":
      return "conflict";
  }
}

const EXECUTABLE = 0o111;

function isSameEntry(one: TakenEdit, other: TakenEdit): boolean {
  const [a, b] = [one.entry, other.entry];
  if (a.kind === "file" && b.kind === "file")
    return (a.mode & EXECUTABLE) === (b.mode & EXECUTABLE) && isSameFile(one.bytes, other.bytes);
  if (a.kind === "symlink" && b.kind === "symlink") return a.target === b.target;
  return a.kind === b.kind;
}

function textIn({ entry, bytes }: TakenEdit): string | null | undefined {
  return entry.kind === "missing" ? null : textOf(bytes ?? undefined);
}

/** The message to a coder about files in which its sub-agent's work conflicts with the current draft. */
export function wordReturnConflicts(conflicts: readonly ContestedFile[], limitChars: number): string {
  const share = Math.floor(limitChars / Math.max(1, conflicts.length) / 2);
  return conflicts
    .map(({ path, shown, yours }) =>
      [
        `${path}: not used, because it was also changed elsewhere. Your draft keeps its own version; combine both yourself.${yours === null ? " The sub-agent deleted it." : ""}`,
        wordVersion(path, "as the sub-agent began with it", shown, share),
        wordVersion(path, "as the sub-agent would have it", yours, share),
      ]
        .filter((part) => part !== "")
        .join("\n"),
    )
    .join("\n\n");
}
