import { join, relative } from "node:path";
import type { Conflict, LeftAlone } from "../../application/ports/transaction.ts";
import { inFolder, inParent } from "../workspace/anchor.ts";
import { type Identity, identify, identifyAt, isAbsence, sameUntouched } from "../workspace/identity.ts";
import { walk } from "../workspace/walk.ts";
import { hashAt } from "./content.ts";
import { isIndexFile } from "./git-area.ts";
import type { Op, Plan } from "./job-folder.ts";
import { openForWriting } from "./open-files.ts";
import { type Direction, incoming, outgoing, rootOf } from "./swap.ts";

export interface Expectation {
  /** What should stand at an op's path now. */
  readonly stands: (op: Op) => Identity | null;
  /** A folder that is to leave must be quiet: nothing below it may be newer than this (ns on its file system). */
  readonly quietSince: (op: Op) => bigint;
  /** Git state that moved on is left alone instead of being a conflict. */
  readonly leaveGitState: boolean;
}

export interface Checked {
  readonly conflicts: readonly Conflict[];
  /** Ops that are left out of the swap on purpose. */
  readonly skip: ReadonlySet<number>;
  readonly left: readonly LeftAlone[];
}

/** Looks at every path of a plan before anything is moved. */
export function checkSwap(plan: Plan, workspace: string, direction: Direction, expect: Expectation): Checked {
  const shown = (op: Op) => relative(workspace, join(rootOf(plan, op), op.path));
  const conflicts: Conflict[] = [];
  const skip = new Set<number>();
  const left: LeftAlone[] = [];
  const files = new Map<string, Op>();
  const folders = new Map<string, Op>();
  for (const op of plan.ops) {
    const reason = checkOp(plan, op, direction, expect);
    if (reason === null) {
      const goes = outgoing(op, direction);
      if (goes?.kind === "file") files.set(join(rootOf(plan, op), op.path), op);
      else if (goes?.kind === "directory" && incoming(op, direction) === null && op.a !== null)
        folders.set(join(rootOf(plan, op), op.path), op);
    } else if (op.area === "git" && expect.leaveGitState) {
      skip.add(op.n);
      left.push({ path: shown(op), reason: "moved-on" });
    } else if (op.area === "object" && op.a === null) {
      skip.add(op.n);
    } else {
      conflicts.push({ path: shown(op), reason });
    }
  }
  for (const held of openForWriting(new Set(files.keys()), [...folders.keys()])) {
    conflicts.push({ path: relative(workspace, held.path), reason: "open", by: held.process });
  }
  return { conflicts, skip, left };
}

function checkOp(plan: Plan, op: Op, direction: Direction, expect: Expectation): Conflict["reason"] | null {
  const root = rootOf(plan, op);
  const expected = expect.stands(op);
  let current: Identity | null;
  try {
    current = identify(root, op.path);
    if (current === null && incoming(op, direction) !== null && !parentsAreFolders(root, op.path))
      return "parent-missing";
  } catch (error) {
    return (error as { code?: string }).code === "EACCES" ? "no-access" : "parent-missing";
  }
  if (current === null || expected === null) {
    if (current === expected) return null;
    if (op.area === "object" && op.a === null && direction === "forward") return null;
    return current === null ? "missing" : "exists";
  }
  if (expected.kind === "directory" && current.kind === "directory")
    return checkFolder(root, op, direction, current, expected, expect);
  if (sameUntouched(current, expected)) return null;
  const hash = outgoing(op, direction) === op.a ? op.aHash : op.bHash;
  if (current.kind !== expected.kind || hash === undefined) return "changed";
  const isIndex = isIndexFile(op.path, op.area);
  if (!isIndex && (current.mode !== expected.mode || current.size !== expected.size)) return "changed";
  const now = inParent(root, op.path, (parent, name) => hashAt(`${parent}/${name}`, current, isIndex));
  return now === hash ? null : "changed";
}

function checkFolder(
  root: string,
  op: Op,
  direction: Direction,
  current: Identity,
  expected: Identity,
  expect: Expectation,
): Conflict["reason"] | null {
  if (incoming(op, direction)?.kind === "directory") return current.mode === expected.mode ? null : "changed";
  if (op.a === null) return null;
  const since = expect.quietSince(op);
  const noisy = inFolder(root, op.path, (self) => {
    for (const { stats } of walk(self)) if (stats.ctimeNs >= since) return true;
    return false;
  });
  return noisy ? "changed" : null;
}

/** False when a parent is there but is no folder (a file, or a symlink that must not be followed). */
function parentsAreFolders(root: string, path: string): boolean {
  const parts = path.split("/");
  for (let i = 1; i < parts.length; i++) {
    const prefix = parts.slice(0, i).join("/");
    try {
      const found = inParent(root, prefix, (parent, name) => identifyAt(`${parent}/${name}`));
      if (found === null) return true;
      if (found.kind !== "directory") return false;
    } catch (error) {
      return !isAbsence(error);
    }
  }
  return true;
}
