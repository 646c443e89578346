import { join } from "node:path";
import type { EarlierState, HandEdit } from "../../application/ports/history.ts";
import {
  type Entry,
  type TakenEdit,
  ViewFault,
  type WorkspaceFiles,
} from "../../application/ports/platform-view.ts";
import { parentOf } from "../../domain/platform/paths.ts";
import { ifSound, type JobFolder, jobFolder, type Op, opSlotPath, readOwnPlan } from "../jobs/job-folder.ts";
import { type Identity, identifyAt, shownBelow } from "../platform/entry-identity.ts";
import { createWorkspaceFiles, readEntryAt, readRegular } from "../platform/folder-view.ts";

export interface StateDeps {
  readonly storage: string;
  readonly workspace: string;
}

/** A job of the stack, as far as its state is needed. */
export interface StackEntry {
  readonly id: string;
  readonly known: boolean;
  readonly paths: readonly string[];
}

/** The entry of a path in an earlier state: an original of a job, nothing, or content that is gone. */
type Original =
  | { readonly kind: "slot"; readonly at: string; readonly mode?: number }
  | { readonly kind: "missing" }
  | { readonly kind: "gone" };

/** The workspace before the first of these jobs, oldest first: the earliest that touched a path kept its original. Nothing is copied. */
export function openStateBefore(
  { storage, workspace }: StateDeps,
  later: readonly StackEntry[],
): EarlierState {
  const originals = new Map<string, Original>();
  const left = new Map<string, { readonly jobId: string; readonly op: Op | null }>();
  const handEdits: HandEdit[] = [];
  const isCovered = (path: string) => {
    for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1))
      if (originals.has(path.slice(0, end))) return true;
    return false;
  };
  for (const { id, known, paths } of later) {
    const folder = jobFolder(storage, id);
    const ops = known ? readFileOps(folder, workspace) : null;
    if (ops === null) {
      for (const path of paths) {
        if (!isCovered(path)) originals.set(path, { kind: "gone" });
        left.set(path, { jobId: id, op: null });
      }
      continue;
    }
    for (const { path, op } of ops) {
      const earlier = left.get(path);
      if (earlier?.op != null && !isSameEntry(op.a, op.aHash, earlier.op))
        handEdits.push({ path, after: earlier.jobId, before: id, ...describeEdit(op.a, earlier.op) });
      if (op.a?.kind === "directory" && op.b?.kind !== "directory")
        for (const [inside, { jobId, op: own }] of left) {
          if (own === null || !inside.startsWith(`${path}/`)) continue;
          const kept = `${opSlotPath(folder, op.n, "a")}${inside.slice(path.length)}`;
          const found = identifyAt(kept);
          if (!isSameEntry(found, undefined, own))
            handEdits.push({ path: inside, after: jobId, before: id, ...describeEdit(found, own) });
          left.set(inside, { jobId: id, op: { ...op, b: null } });
        }
      left.set(path, { jobId: id, op });
      if (!isCovered(path)) originals.set(path, originalOf(folder, op, join(workspace, path)));
    }
  }
  for (const [path, { jobId, op }] of left) {
    const now = op === null ? null : identifyAt(join(workspace, path));
    if (op !== null && op.b?.kind !== "directory" && !isSameEntry(now, undefined, op))
      handEdits.push({ path, after: jobId, before: null, ...describeEdit(now, op) });
  }
  const files = createEarlierFiles(workspace, originals);
  return {
    files,
    changed: [...originals.keys()],
    handEdits,
    unknown: [...originals].flatMap(([path, { kind }]) => (kind === "gone" ? [path] : [])),
    edits: () =>
      [...originals.keys()].flatMap((path) => [...walkEdits(createWorkspaceFiles(workspace), files, path)]),
  };
}

function describeEdit(found: Identity | null, { b }: Op): Pick<HandEdit, "at" | "mode"> {
  return { at: found === null ? null : Number(found.ctime) / 1e6, mode: b?.mode ?? null };
}

/** Whether an entry is still what a job had put there; a rename keeps inode, size and time of writing. */
function isSameEntry(found: Identity | null, hash: string | undefined, { b, bHash }: Op): boolean {
  if (found === null || b === null) return found === b;
  if (found.kind === "file" && found.mode !== b.mode) return false;
  return found.hasContentsOf(b) || (hash !== undefined && hash === bHash);
}

/** The ops of a job on files of the workspace, folders above their content first; null where they cannot be read. */
function readFileOps(
  folder: JobFolder,
  workspace: string,
): { readonly path: string; readonly op: Op }[] | null {
  const own = ifSound(() => readOwnPlan(folder, workspace));
  if (own?.status !== "own") return null;
  const { plan } = own;
  return plan.ops
    .filter(({ area }) => area === "file")
    .map((op) => ({ path: shownBelow(workspace, plan.roots[op.root] as string, op.path), op }))
    .filter(({ path }) => !path.startsWith("../") && !isGitFile(path))
    .sort((x, y) => (x.path < y.path ? -1 : 1));
}

const isGitFile = (path: string) => path === ".git" || path.startsWith(".git/");

function originalOf(folder: JobFolder, op: Op, now: string): Original {
  if (op.a === null) return { kind: "missing" };
  if (op.inPlace === true) return { kind: "slot", at: now, mode: op.a.mode };
  const at = opSlotPath(folder, op.n, "a");
  return identifyAt(at) === null ? { kind: "gone" } : { kind: "slot", at };
}

/** The edits of one original: a file, or a folder with all that was in it; of one that did not exist, all that is. */
function* walkEdits(now: WorkspaceFiles, then: WorkspaceFiles, path: string): Generator<TakenEdit> {
  const entry = then.look(path);
  if (entry.kind === "missing" && now.look(path).kind === "directory")
    for (const name of now.list(path)) yield* walkEdits(now, then, `${path}/${name}`);
  yield { path, entry, bytes: entry.kind === "file" ? then.read(path) : null };
  if (entry.kind === "directory")
    for (const name of then.list(path)) yield* walkEdits(now, then, `${path}/${name}`);
}

function createEarlierFiles(workspace: string, originals: ReadonlyMap<string, Original>): WorkspaceFiles {
  const present = createWorkspaceFiles(workspace);
  const children = new Map<string, Set<string>>();
  for (const path of originals.keys())
    for (let at = path; at !== ""; at = parentOf(at)) {
      const names = children.get(parentOf(at)) ?? new Set();
      children.set(parentOf(at), names.add(at.slice(at.lastIndexOf("/") + 1)));
    }
  /** The files that have the entry of a path, and its name there; null for nothing. */
  const locate = (
    path: string,
  ): { readonly files: WorkspaceFiles; readonly path: string; readonly mode?: number } | null => {
    for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
      const original = originals.get(path.slice(0, end));
      if (original === undefined) continue;
      if (original.kind === "gone") throw new ViewFault("missing", path, `no longer known: ${path}`);
      if (original.kind === "missing") return null;
      const { at, mode } = original;
      if (end === path.length) return { files: slotFile(at), path: "", ...(mode !== undefined && { mode }) };
      return { files: createWorkspaceFiles(at), path: path.slice(end + 1) };
    }
    return { files: present, path };
  };
  const missing = (path: string) => new ViewFault("missing", path, `no such file or directory: ${path}`);
  const look = (path: string): Entry => {
    const found = locate(path);
    const entry = found?.files.look(found.path) ?? { kind: "missing" };
    if (entry.kind === "file" && found?.mode !== undefined) return { ...entry, mode: found.mode };
    const hasChild = () =>
      [...(children.get(path) ?? [])].some((name) => look(`${path}/${name}`).kind !== "missing");
    return entry.kind === "missing" && hasChild() ? { kind: "directory", mode: 0o755 } : entry;
  };
  const within = (path: string) => {
    const found = locate(path);
    if (found === null) throw missing(path);
    return found;
  };
  return {
    look,
    list(path) {
      if (look(path).kind !== "directory") throw missing(path);
      const found = path === "" ? { files: present, path } : locate(path);
      const names = new Set(
        found !== null && found.files.look(found.path).kind === "directory"
          ? found.files.list(found.path)
          : [],
      );
      for (const name of children.get(path) ?? []) {
        const at = path === "" ? name : `${path}/${name}`;
        if (originals.get(at)?.kind === "gone" || look(at).kind !== "missing") names.add(name);
        else names.delete(name);
      }
      return [...names].sort();
    },
    read(path) {
      const found = within(path);
      return found.files.read(found.path);
    },
    readPart(path, offset, length) {
      const found = within(path);
      return found.files.readPart(found.path, offset, length);
    },
  };
}

/** One original as the files of itself. */
function slotFile(at: string): WorkspaceFiles {
  const inside = createWorkspaceFiles(at);
  return {
    look: (path) => (path === "" ? readEntryAt(at) : inside.look(path)),
    list: inside.list,
    read: (path) => (path === "" ? readRegular(at, at) : inside.read(path)),
    readPart: (_, offset, length) => readRegular(at, at).subarray(offset, offset + length),
  };
}
