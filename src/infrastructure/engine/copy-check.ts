import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import type {
  CheckView,
  CheckViewRequest,
  OpenedCheck,
  StartedBy,
} from "../../application/ports/jobs-transaction.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import type { JobFolder } from "../jobs/job-folder.ts";
import { lstatEntry } from "../platform/entry-stats.ts";
import { createFolderView } from "../platform/folder-view.ts";
import { gitCeiling } from "../platform/git-roots.ts";
import { inParent } from "../platform/open-folder.ts";
import { removeTree } from "../platform/remove-tree.ts";
import type { ConfineCopy, LimitCopy } from "../sandbox/start-executor.ts";
import {
  type CopiedRoot,
  type CopyLook,
  copyEntry,
  copyRoots,
  FOLDER,
  leaveOut,
  lookAtCopies,
  repointGit,
  restoreEntry,
  takeManifest,
} from "./copied-roots.ts";
import { maskOf } from "./hidden-files.ts";

interface Traces {
  readonly copies: readonly CopiedRoot[];
  /** The copies before anything ran in them. */
  readonly before: CopyLook;
  /** Which of them the job itself made or changed; the rest is as the workspace has it. */
  readonly isOwn: (key: string) => boolean;
  /** An empty folder for the time between. */
  readonly into: string;
}

/** Records the current state of copies; the returned function reverts every change made in them since. */
function rememberCopies({ copies, before, isOwn, into }: Traces): () => void {
  const saved = new Map<string, string>();
  const modes = new Map<string, number>();
  for (const [key, ctime] of before) {
    if (!isOwn(key)) continue;
    const { copy, path } = copiedPathOf(copies, key);
    if (ctime === FOLDER) {
      modes.set(key, lstatSync(join(copy, path)).mode & 0o7777);
      continue;
    }
    const to = join(into, String(saved.size));
    inParent(copy, path, (folder, name) => copyEntry(`${folder}/${name}`, to));
    saved.set(key, to);
  }
  return () => {
    const now = lookAtCopies(copies, before);
    for (const key of [...now.keys()].reverse())
      if (!before.has(key)) removeCopiedPath(copiedPathOf(copies, key));
    for (const [key, ctime] of before) {
      if (now.get(key) === ctime) continue;
      const place = copiedPathOf(copies, key);
      if (ctime === FOLDER) makeFolder(place, modes.get(key));
      else restoreEntry(place, place.path, saved.get(key) ?? join(place.original, place.path));
    }
  };
}

interface CopiedPath extends CopiedRoot {
  readonly path: string;
}

function copiedPathOf(copies: readonly CopiedRoot[], key: string): CopiedPath {
  const colon = key.indexOf(":");
  return { ...(copies[Number(key.slice(0, colon))] as CopiedRoot), path: key.slice(colon + 1) };
}

/** Entries below a removed folder are removed with it. */
function removeCopiedPath({ copy, path }: CopiedPath): void {
  try {
    inParent(copy, path, (folder, name) => removeTree(`${folder}/${name}`));
  } catch {
    // Its folder was removed before.
  }
}

function makeFolder({ original, copy, path }: CopiedPath, own: number | undefined): void {
  const mode = own ?? lstatEntry(join(original, path))?.mode ?? 0o755;
  inParent(copy, path, (folder, name) => {
    removeTree(`${folder}/${name}`);
    mkdirSync(`${folder}/${name}`);
    chmodSync(`${folder}/${name}`, mode & 0o7777);
  });
}

export interface CopyChecks {
  readonly workspace: string;
  readonly folder: JobFolder;
  readonly copies: readonly CopiedRoot[];
  readonly ownFolders: readonly string[];
  readonly confine: ConfineCopy | null;
  /** Where nothing confines. */
  readonly limit: () => LimitCopy | null;
  readonly secretFiles: (startedBy: StartedBy) => readonly string[];
  /** What the draft's own copies do not hold. */
  readonly secrets: readonly string[];
  readonly look: () => CopyLook;
  /** Whether the job itself made or changed it. */
  readonly isOwn: (key: string) => boolean;
  readonly onBack: () => void;
}

/** Without an overlay, a check runs in the draft's own copy and its traces are taken back, which costs a walk; a baseline gets a copy. */
export function createCopyChecks(parts: CopyChecks) {
  const { folder, copies } = parts;
  let count = 0;
  return async ({ over, startedBy, network }: CheckViewRequest): Promise<OpenedCheck> => {
    const into = join(folder.path, `check.${++count}`);
    mkdirSync(join(into, "saved"), { recursive: true, mode: 0o700 });
    if (over === "baseline") {
      const made = copyWorkspace(parts, into);
      if (!made.ok) {
        removeTree(into);
        return made;
      }
      leaveOut(made.copies, parts.secretFiles(startedBy));
      return openIn(parts, made.copies, into, { startedBy, network }, () => {});
    }
    const takeBack = rememberCopies({
      copies,
      before: parts.look(),
      isOwn: parts.isOwn,
      into: join(into, "saved"),
    });
    // What the job did not see, the project's checks do; its traces include it.
    const left = parts.secretFiles(startedBy);
    for (const path of parts.secrets.filter((one) => !left.includes(one))) placeOriginal(copies, path);
    return openIn(parts, copies, into, { startedBy, network }, () => {
      takeBack();
      parts.onBack();
    });
  };
}

/** Where the job removed the folder, or made something there itself, the original stays away. */
function placeOriginal(copies: readonly CopiedRoot[], path: string): void {
  const root = copies.find(({ original }) => isInside(original, path));
  if (root === undefined) return;
  const below = relative(root.original, path);
  attemptOr(undefined, () =>
    inParent(root.copy, below, (folder, name) => {
      const to = `${folder}/${name}`;
      if (lstatSync(to, { throwIfNoEntry: false }) === undefined) copyEntry(path, to);
    }),
  );
}

function copyWorkspace({ copies, ownFolders }: CopyChecks, into: string) {
  const roots = copies.map(({ original }) => original);
  const manifests = roots.map((root) => takeManifest(root, ownFolders));
  return copyRoots({ roots, manifests, into: join(into, "view"), ownFolders });
}

async function openIn(
  { workspace, confine, limit, secretFiles }: CopyChecks,
  copies: readonly CopiedRoot[],
  into: string,
  asked: Pick<CheckViewRequest, "startedBy" | "network">,
  takeBack: () => void,
): Promise<OpenedCheck> {
  const sandbox = confine === null ? null : await confine(into, copies, { ...asked, throwAway: true });
  if (sandbox !== null && "complaint" in sandbox) {
    removeTree(into);
    return { ok: false, message: sandbox.complaint };
  }
  const top = copies[0] as CopiedRoot;
  const directory = join(top.copy, relative(top.original, workspace));
  if (sandbox === null) repointGit(workspace, copies);
  // Landlock cannot tell this machine from the world, and tests talk to servers that they start.
  const limited = sandbox === null ? ((await limit()?.(into, copies, { network: true })) ?? null) : null;
  const runner = sandbox ?? limited;
  let closing: Promise<void> | null = null;
  const close = async () => {
    await runner?.stop();
    takeBack();
    removeTree(into);
  };
  const maskFiles = asked.startedBy === "model" ? undefined : maskOf(secretFiles("model"));
  const check: CheckView = {
    ...(maskFiles !== undefined && { maskFiles }),
    view: sandbox?.view ?? createFolderView(directory),
    directory: sandbox === null ? directory : workspace,
    environment: { ...runner?.environment, ...gitCeiling([sandbox === null ? top.copy : top.original]) },
    ...(runner !== null && { processes: runner.processes }),
    confined: sandbox?.confined ?? false,
    hasBuilt: false,
    close() {
      closing ??= close();
      return closing;
    },
  };
  return { ok: true, check };
}
