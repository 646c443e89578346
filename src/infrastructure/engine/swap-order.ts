import { isIndexFile } from "./git-area.ts";
import type { SwapStep } from "./turns.ts";

export interface SwapOrder {
  /** Only leave, deepest first. */
  readonly early: readonly SwapStep[];
  /** Come in or replace. */
  readonly incoming: readonly SwapStep[];
  /** Only leave, after everything has come in. */
  readonly late: readonly SwapStep[];
}

/** A child leaves before its folder and comes after it; git state never points at what is not there. */
export function inDepthOrder(turns: readonly SwapStep[]): SwapOrder {
  const depth = new Map(turns.map((turn) => [turn, turn.op.path.split("/").length]));
  const deepestFirst = (x: SwapStep, y: SwapStep) => (depth.get(y) ?? 0) - (depth.get(x) ?? 0);
  const leaving = turns.filter(({ comes }) => comes === null).sort(deepestFirst);
  const goingFolders = new Set(
    turns.filter(({ goes }) => goes?.kind === "directory").map(({ op }) => `${op.root}:${op.path}`),
  );
  const isLate = ({ op }: SwapStep) => op.area !== "file" && !hasAncestor(op.root, op.path, goingFolders);
  const incoming = turns.filter(({ comes }) => comes !== null);
  const ranks = new Map(incoming.map((turn) => [turn, rank(turn)]));
  incoming.sort((x, y) => (ranks.get(x) ?? 0) - (ranks.get(y) ?? 0) || deepestFirst(y, x));
  return {
    early: leaving.filter((turn) => !isLate(turn)),
    incoming,
    late: leaving.filter(isLate).sort((x, y) => lateRank(x) - lateRank(y)),
  };
}

const RANK = { object: 1, file: 2, git: 3 } as const;
const INDEX_RANK = 4;

function rank({ op, comes }: SwapStep): number {
  if (comes?.kind === "directory") return 0;
  return isIndexFile(op.path, op.area) ? INDEX_RANK : RANK[op.area];
}

function lateRank({ op }: SwapStep): number {
  return op.area === "object" ? 1 : 0;
}

function hasAncestor(root: number, path: string, folders: ReadonlySet<string>): boolean {
  for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1))
    if (folders.has(`${root}:${path.slice(0, slash)}`)) return true;
  return false;
}
