import { isSameFile } from "../../domain/jobs/file-bytes.ts";
import type { EarlierState, HandEdit, JobStack } from "../ports/history.ts";
import type { FileDifference } from "../ports/jobs.ts";
import type { Draft, OpenedDraft } from "../ports/jobs-draft.ts";
import { type TakenEdit, ViewFault, type WorkspaceFiles } from "../ports/jobs-transaction.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";

/** A draft over files as they were. It never lands: `close` discards it and removes its record. */
export type EarlierDraft =
  | {
      readonly ok: true;
      readonly draft: Draft;
      /** Changes outside of jobs since, which the state cannot tell from the jobs around them. */
      readonly handEdits: readonly HandEdit[];
      close(): Promise<void>;
    }
  | Extract<OpenedDraft, { ok: false }>
  | { readonly ok: false; readonly gone: readonly string[] };

interface EarlierDraftRequest {
  readonly source: string;
  readonly signal: AbortSignal;
}

/** The place of a group's first job, or of a job, in the stack; -1 where it is not part of the workspace. */
export function findPlace({ jobs }: JobStack, name: string): number {
  return jobs.findIndex(({ jobId, groupId }) => jobId === name || groupId === name);
}

/**
 * Opens a draft over the files as they were before the job at this place (see `findPlace`), with other contents for some
 * files. Only what differs from now is written.
 */
export async function openDraftBefore(
  workspace: Pick<Workspace, "openDraft">,
  stack: JobStack,
  place: number,
  { source, signal }: EarlierDraftRequest,
  other: ReadonlyMap<string, Uint8Array | null> = new Map(),
): Promise<EarlierDraft> {
  const state = stack.openBefore(place);
  if (state.unknown.length > 0) return { ok: false, gone: state.unknown };
  const kept = state.edits().filter(({ path }) => !other.has(path));
  const opened = await openDraftWith(workspace, [...kept, ...[...other].map(toEdit)], { source, signal });
  if (!opened.ok) return opened;
  const { draft } = opened;
  const close = async () => {
    await draft.discard(source);
    stack.forgetProbe(draft.id);
  };
  return { ok: true, draft, handEdits: state.handEdits, close };
}

/** A draft without the network and with these edits, which the caller discards. */
export async function openDraftWith(
  workspace: Pick<Workspace, "openDraft">,
  edits: readonly TakenEdit[],
  { source, signal }: EarlierDraftRequest,
): Promise<OpenedDraft> {
  const request = { source, checked: true, network: false, autoCommit: false, signal };
  const opened = await workspace.openDraft(request);
  const refusal = opened.ok ? await opened.draft.takeIn(edits, 0) : null;
  if (!opened.ok || refusal === null) return opened;
  await opened.draft.discard(source);
  return { ok: false, refusal };
}

const encoder = new TextEncoder();

export function toEdit([path, content]: readonly [string, Uint8Array | string | null]): TakenEdit {
  if (content === null) return { path, entry: { kind: "missing" }, bytes: null };
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  return { path, entry: { kind: "file", mode: 0o644, size: bytes.length }, bytes };
}

/** The files that differ between two states of the workspace. Both sides are undefined where a state is gone. */
export function* walkStates(from: EarlierState, to: EarlierState): Generator<FileDifference> {
  const paths = new Set(
    [...from.changed, ...to.changed].flatMap((path) => [...walkFiles([from.files, to.files], path)]),
  );
  for (const path of [...paths].sort()) {
    const [before, after] = [readState(from, path), readState(to, path)];
    if (before === undefined || after === undefined || !isSameFile(before, after))
      yield { path, before, after };
  }
}

function* walkFiles(sides: readonly WorkspaceFiles[], path: string): Generator<string> {
  const folders = sides.filter((files) => lookSafely(files, path) === "directory");
  if (folders.length < sides.length) yield path;
  for (const name of new Set(folders.flatMap((files) => files.list(path))))
    yield* walkFiles(sides, `${path}/${name}`);
}

function lookSafely(files: WorkspaceFiles, path: string): string {
  try {
    return files.look(path).kind;
  } catch (error) {
    if (error instanceof ViewFault) return "gone";
    throw error;
  }
}

/** A file of a state: null: not a file; undefined: missing. */
export function readState({ files }: EarlierState, path: string): Uint8Array | null | undefined {
  try {
    return files.look(path).kind === "file" ? files.read(path) : null;
  } catch (error) {
    if (error instanceof ViewFault) return undefined;
    throw error;
  }
}
