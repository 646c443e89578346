import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { DifferenceVerdict, ValidateDifference } from "../../application/ports/jobs-transaction.ts";
import { getXattr, removeXattr } from "../platform/xattr.ts";
import { inFolder } from "./anchor.ts";
import { type Identity, identify, identifyAt } from "./entry-identity.ts";
import { removeTree } from "./remove-tree.ts";
import { hashAt } from "./content.ts";
import { areaOf, isIndexFile } from "./git-area.ts";
import { isInside } from "./git-roots.ts";
import { type Op, opSlotPath } from "./job-folder.ts";
import { type SealedOps, sealedDifference } from "./sealed-difference.ts";

export interface ValidatedOps {
  readonly ops: readonly Op[];
  /** Absolute paths that did not land as the job left them. */
  readonly turnedDown: readonly string[];
}

/**
 * The last step of every seal: what lies in the slots is judged, what may not land is taken out, and bits that give
 * away power are taken off. The plan is written of what comes back, so that nothing else is ever committed.
 */
export function validateOps(sealed: SealedOps, judge: ValidateDifference): ValidatedOps {
  const harmless = sealed.ops.map((op) => withoutPower(sealed, op));
  const verdict = judge(sealedDifference({ ...sealed, ops: harmless }));
  if (verdict.drop.length === 0 && verdict.rewrite.size === 0) return { ops: harmless, turnedDown: [] };
  const absolute = (path: string) => resolve(sealed.workspace, path);
  const left = dropOps({ ...sealed, ops: harmless }, verdict.drop.map(absolute));
  const ops = left.flatMap((op) => rewriteOp(sealed, op, verdict.rewrite) ?? []);
  return { ops, turnedDown: [...verdict.drop, ...verdict.rewrite.keys()].map(absolute) };
}

/** Set-user-id and the like on a file, and set-user-id on a folder, unless it was so before. */
function withoutPower({ folder, roots }: SealedOps, op: Op): Op {
  const { a, b, n } = op;
  if (b === null || (b.kind !== "file" && b.kind !== "directory")) return op;
  const had = a?.kind === b.kind ? a.mode : 0;
  const extra = b.mode & (b.kind === "file" ? 0o7000 : 0o4000) & ~had;
  const staged = opSlotPath(folder, n, "b");
  const isKept = a?.kind === "directory" && b.kind === "directory";
  if (b.kind === "file" && op.inPlace !== true && process.getuid?.() === 0)
    takeCapability(staged, a === null ? null : join(roots[op.root] as string, op.path));
  if (extra === 0) return op;
  const mode = b.mode & ~extra;
  if (identifyAt(staged) !== null) chmodSync(staged, mode);
  return { ...op, b: isKept ? { ...b, mode } : ((identifyAt(staged) ?? { ...b, mode }) as Identity) };
}

const CAPABILITY = "security.capability";

/** A file that brings capabilities is as good as one with set-user-id. */
function takeCapability(staged: string, original: string | null): void {
  const brings = getXattr(staged, CAPABILITY);
  if (!brings.ok) return;
  const had = original === null ? null : getXattr(original, CAPABILITY);
  if (had?.ok && Buffer.from(had.value).equals(brings.value)) return;
  removeXattr(staged, CAPABILITY);
}

function dropOps(sealed: SealedOps, paths: readonly string[]): Op[] {
  const { folder, roots } = sealed;
  const at = (op: Op) => join(roots[op.root] as string, op.path);
  const named = new Set(paths);
  const goes = (op: Op) => named.has(at(op)) || isBelow(at(op), named);
  const opened = new Set(
    sealed.ops.filter((op) => takesFolderAway(op) && paths.some((path) => path.startsWith(`${at(op)}/`))),
  );
  const kept = sealed.ops.filter((op) => !goes(op) && !opened.has(op));
  for (const op of sealed.ops) if (goes(op) || opened.has(op)) removeTree(opSlotPath(folder, op.n, "b"));
  const without = withoutEmptyParents(kept, sealed.ops.filter(goes), at, (op) =>
    removeTree(opSlotPath(folder, op.n, "b")),
  );
  const beside = {
    n: sealed.ops.reduce((most, { n }) => Math.max(most, n), -1) + 1,
    told: new Set(sealed.ops.map(at)),
  };
  for (const op of opened) without.push(...goneBeside(sealed, op, paths, beside));
  return without;
}

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1))
    if (folders.has(path.slice(0, slash))) return true;
  return false;
}

function takesFolderAway({ a, b }: Op): boolean {
  return a?.kind === "directory" && b?.kind !== "directory";
}

/** A folder that the job made for nothing but what was dropped goes with it. */
function withoutEmptyParents(
  kept: readonly Op[],
  gone: readonly Op[],
  at: (op: Op) => string,
  drop: (op: Op) => void,
): Op[] {
  const left = new Map(kept.map((op) => [at(op), op]));
  for (const op of gone.filter(({ a }) => a === null)) {
    const path = at(op);
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
      const parent = path.slice(0, slash);
      const made = left.get(parent);
      if (made === undefined || made.a !== null) break;
      if ([...left.keys()].some((other) => other.startsWith(`${parent}/`))) break;
      left.delete(parent);
      drop(made);
    }
  }
  return [...left.values()];
}

/** A folder that was to go stays for what must not: everything else in it still goes, name by name. */
function goneBeside(
  { roots }: SealedOps,
  { root, path: folder }: Op,
  paths: readonly string[],
  beside: { n: number; readonly told: Set<string> },
): Op[] {
  const ops: Op[] = [];
  const top = roots[root] as string;
  const area = (path: string) => areaOf(path, root > 0, (at) => identify(top, at) === null);
  const enter = (path: string) => {
    for (const name of inFolder(top, path, (self) => readdirSync(self))) {
      const below = `${path}/${name}`;
      const absolute = join(top, below);
      if (paths.some((kept) => isInside(kept, absolute))) continue;
      if (paths.some((kept) => kept.startsWith(`${absolute}/`))) {
        enter(below);
        continue;
      }
      const a = identify(top, below);
      if (a === null || beside.told.has(absolute)) continue;
      beside.told.add(absolute);
      const aHash = hashAt(absolute, a, isIndexFile(below, area(below)));
      ops.push({ n: beside.n++, root, path: below, a, b: null, ...(aHash && { aHash }), area: area(below) });
    }
  };
  enter(folder);
  return ops;
}

/** Null where the new bytes are those that stood there before. */
function rewriteOp(
  { folder, roots, workspace }: SealedOps,
  op: Op,
  rewrite: DifferenceVerdict["rewrite"],
): Op | null {
  const absolute = join(roots[op.root] as string, op.path);
  const bytes = rewrite.get(relative(workspace, absolute));
  if (bytes === undefined || op.b?.kind !== "file") return op;
  const staged = opSlotPath(folder, op.n, "b");
  chmodSync(staged, 0o600);
  writeFileSync(staged, bytes);
  chmodSync(staged, op.b.mode);
  const b = identifyAt(staged) as Identity;
  const bHash = hashAt(staged, b, isIndexFile(op.path, op.area));
  if (op.a?.kind === "file" && op.a.mode === b.mode && op.aHash !== undefined && op.aHash === bHash) {
    removeTree(staged);
    return null;
  }
  const { bHash: _, ...rest } = op;
  return { ...rest, b, ...(bHash && { bHash }) };
}
