import { readdirSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Difference, EntryState } from "../../application/ports/jobs-transaction.ts";
import { inFolder, inParent } from "./anchor.ts";
import { type Identity, identify } from "./entry-identity.ts";
import { pathBelow } from "./path-below.ts";
import { readNoFollow } from "./content.ts";
import { isInside, repositoryOf } from "./git-roots.ts";
import { type JobFolder, type Op, opSlotPath } from "./job-folder.ts";

export interface SealedOps {
  readonly folder: JobFolder;
  readonly workspace: string;
  /** Absolute; an op names its root by number. */
  readonly roots: readonly string[];
  readonly ops: readonly Op[];
}

/** Larger files are not read to be judged: whoever needs their bytes is told that there are none. */
const LARGEST_READ = 64 * 1024 ** 2;

/** The difference that ops and their slots make, for a judge. Before is the workspace, after is what lies in the slots. */
export function sealedDifference({ folder, workspace, roots, ops }: SealedOps): Difference {
  const byPath = new Map(ops.map((op) => [`${roots[op.root]}/${op.path}`, op]));
  const shown = (op: Op) => pathBelow(workspace, `${roots[op.root]}/${op.path}`);

  /** Root and path below it; the innermost root has it. */
  function place(path: string): { root: string; below: string } | null {
    const absolute = resolve(workspace, path);
    const root = [...roots].reverse().find((one) => isInside(one, absolute));
    return root === undefined ? null : { root, below: relative(root, absolute) };
  }

  /** The op that decides what stands at a path afterwards: its own, or that of a folder which is new or gone. */
  function deciding(path: string): Op | null {
    const absolute = resolve(workspace, path);
    const own = byPath.get(absolute);
    if (own !== undefined) return own;
    for (let slash = absolute.lastIndexOf("/"); slash > 0; slash = absolute.lastIndexOf("/", slash - 1)) {
      const above = byPath.get(absolute.slice(0, slash));
      if (above !== undefined && (above.a?.kind !== "directory" || above.b?.kind !== "directory"))
        return above;
    }
    return null;
  }

  function identityBefore(path: string): Identity | null {
    const own = byPath.get(resolve(workspace, path));
    if (own !== undefined) return own.a;
    const at = place(path);
    return at === null || at.below === "" ? null : identify(at.root, at.below);
  }

  function identityAfter(path: string): Identity | null {
    const op = deciding(path);
    if (op === null) return identityBefore(path);
    return byPath.get(resolve(workspace, path)) === op ? op.b : null;
  }

  function original(path: string): Uint8Array | null {
    const at = place(path);
    if (at === null || !isReadable(identityBefore(path))) return null;
    return readOrNull(() => inParent(at.root, at.below, (parent, name) => readNoFollow(`${parent}/${name}`)));
  }

  return {
    changes: ops.map((op) => ({
      path: shown(op),
      kind: op.a === null ? "added" : op.b === null ? "deleted" : "modified",
    })),
    look: (path, when) =>
      standingFromIdentity(when === "before" ? identityBefore(path) : identityAfter(path)),
    original,
    current(path) {
      const op = deciding(path);
      if (op === null || op.inPlace === true) return original(path);
      if (!isReadable(identityAfter(path))) return null;
      return readOrNull(() => readNoFollow(opSlotPath(folder, op.n, "b")));
    },
    get repository() {
      return repositoryOf(workspace);
    },
    *below(path) {
      const at = place(path);
      if (at === null) return;
      for (const name of namesBelow(at.root, at.below)) yield `${path}/${name}`;
    },
  };
}

/** Every name below a folder as it stands in the workspace. */
function* namesBelow(root: string, folder: string): Generator<string> {
  const pending = [""];
  while (pending.length > 0) {
    const at = pending.pop() as string;
    const entries = readOrNull(() =>
      inFolder(root, at === "" ? folder : `${folder}/${at}`, (self) =>
        readdirSync(self, { withFileTypes: true }),
      ),
    );
    for (const entry of entries ?? []) {
      const name = at === "" ? entry.name : `${at}/${entry.name}`;
      yield name;
      if (entry.isDirectory()) pending.push(name);
    }
  }
}

function isReadable(identity: Identity | null): boolean {
  return identity?.kind === "file" && identity.size <= LARGEST_READ;
}

function standingFromIdentity(identity: Identity | null): EntryState | null {
  return identity === null ? null : { kind: identity.kind, mode: identity.mode };
}

/** What its own user may not open, or what went meanwhile, has no bytes. */
function readOrNull<T>(use: () => T): T | null {
  try {
    return use();
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return null;
  }
}
