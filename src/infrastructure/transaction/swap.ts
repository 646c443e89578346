import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import type { LeftAlone } from "../../application/ports/transaction.ts";
import { inFolder, inParent } from "../workspace/anchor.ts";
import { type Identity, identifyAt, sameBody } from "../workspace/identity.ts";
import { type JobFolder, type Op, type Plan, slot } from "./job-folder.ts";

export type Direction = "forward" | "back";

/** Called between the steps of a swap; a crash test stops the program there. */
export type Checkpoint = (point: string) => void;

/** Somebody wrote into a file in the instant between the check and the rename. */
export class LateConflict extends Error {
  /** `path` is absolute. */
  constructor(readonly path: string) {
    super(`changed while it was being replaced: ${path}`);
  }
}

/**
 * Exchanges the two sides of a plan: what stands in the workspace goes into its slot, the other side comes in.
 * Each step is a rename within one file system and can be told from the slots alone, so the same call finishes
 * a swap that was cut off, and the opposite call takes back one that was begun.
 *   1. what only leaves goes out, deepest first
 *   2. what comes in (or replaces) goes in, shallowest first
 */
export function swap(
  folder: JobFolder,
  plan: Plan,
  direction: Direction,
  skip: ReadonlySet<number>,
  at: Checkpoint,
): LeftAlone[] {
  const left: LeftAlone[] = [];
  const ops = plan.ops.filter((op) => !skip.has(op.n));
  const byDepth = ops
    .map((op) => ({ op, depth: op.path.split("/").length }))
    .sort((x, y) => x.depth - y.depth);
  for (let i = byDepth.length - 1; i >= 0; i--) {
    const { op } = byDepth[i] as { op: Op };
    if (leaves(op, direction)) {
      moveOut(folder, plan, op, direction, left);
      at(`out ${op.n}`);
    }
  }
  for (const { op } of byDepth) {
    if (incoming(op, direction) === null) continue;
    moveIn(folder, plan, op, direction, at);
    at(`in ${op.n}`);
  }
  return left;
}

export function incoming(op: Op, direction: Direction): Identity | null {
  return direction === "forward" ? op.b : op.a;
}

export function outgoing(op: Op, direction: Direction): Identity | null {
  return direction === "forward" ? op.a : op.b;
}

function sides(direction: Direction): { out: "a" | "b"; in: "a" | "b" } {
  return direction === "forward" ? { out: "a", in: "b" } : { out: "b", in: "a" };
}

/** Whether the standing entry goes out by itself: nothing replaces it, or something of another kind does. */
function leaves(op: Op, direction: Direction): boolean {
  const goes = outgoing(op, direction);
  const comes = incoming(op, direction);
  if (goes === null) return false;
  if (comes === null) return !(op.area === "object" && direction === "back");
  return (goes.kind === "directory") !== (comes.kind === "directory");
}

function moveOut(folder: JobFolder, plan: Plan, op: Op, direction: Direction, left: LeftAlone[]): void {
  const to = slot(folder, op.n, sides(direction).out);
  if (present(to)) return;
  inParentOrSkip(rootOf(plan, op), op.path, (parent, name) => {
    const from = `${parent}/${name}`;
    if (!present(from)) return;
    const madeByJob = op.a === null && op.b?.kind === "directory";
    if (madeByJob && readdirSync(from).length > 0) {
      left.push({ path: `${rootOf(plan, op)}/${op.path}`, reason: "not-empty" });
      return;
    }
    renameSync(from, to);
  });
}

function moveIn(folder: JobFolder, plan: Plan, op: Op, direction: Direction, at: Checkpoint): void {
  const side = sides(direction);
  const from = slot(folder, op.n, side.in);
  const out = slot(folder, op.n, side.out);
  const goes = outgoing(op, direction);
  const comes = incoming(op, direction) as Identity;
  const root = rootOf(plan, op);
  if (goes?.kind === "directory" && comes.kind === "directory") {
    inFolder(root, op.path, (self) => chmodSync(self, comes.mode));
    return;
  }
  if (!present(from)) return;
  makeParents(root, op.path);
  inParent(root, op.path, (parent, name) => {
    const to = `${parent}/${name}`;
    if (comes.kind === "directory") {
      if (identifyAt(to)?.kind === "directory") return;
      renameSync(from, to);
      return;
    }
    if (goes === null || leaves(op, direction)) {
      if (op.area === "object" && present(to)) return;
      placeNew(from, to, `${root}/${op.path}`);
      return;
    }
    if (!present(out) && present(to)) {
      linkOrMove(to, out);
      at(`link ${op.n}`);
    }
    renameSync(from, to);
    const kept = identifyAt(out);
    if (kept !== null && !sameContents(kept, goes)) throw new LateConflict(`${root}/${op.path}`);
  });
}

/** An undone or redone entry may have another inode than planned (`--force`, index refresh): sizes and times tell. */
function sameContents(kept: Identity, planned: Identity): boolean {
  return kept.ino !== planned.ino || sameBody({ ...kept, mode: planned.mode }, planned);
}

/** Keeps the old inode under a second name, so that the path is never empty; without hard links, moves it. */
function linkOrMove(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    renameSync(from, to);
  }
}

/** Moves into a free name only: an entry that somebody made meanwhile is never overwritten. */
function placeNew(from: string, to: string, path: string): void {
  const standing = identifyAt(to);
  if (standing !== null) {
    if (standing.ino !== identifyAt(from)?.ino) throw new LateConflict(path);
    unlinkSync(from);
    return;
  }
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") throw new LateConflict(path);
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

function makeParents(root: string, path: string): void {
  const slash = path.lastIndexOf("/");
  if (slash < 0 || existsSync(`${root}/${path.slice(0, slash)}`)) return;
  const parts = path.split("/");
  for (let i = 1; i < parts.length; i++) {
    inParent(root, parts.slice(0, i).join("/"), (parent, name) => {
      if (!present(`${parent}/${name}`)) mkdirSync(`${parent}/${name}`);
    });
  }
}

function inParentOrSkip(root: string, path: string, use: (parent: string, name: string) => void): void {
  const slash = path.lastIndexOf("/");
  if (slash > 0 && !existsSync(`${root}/${path.slice(0, slash)}`)) return;
  inParent(root, path, use);
}

export function rootOf(plan: Plan, op: Op): string {
  return plan.roots[op.root] as string;
}

function present(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
