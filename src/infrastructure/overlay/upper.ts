import type { BigIntStats } from "node:fs";
import { getXattr } from "../runtime/xattr.ts";
import { type WalkOptions, walk } from "../workspace/walk.ts";

/** One entry of an overlay's upper: what the job left at a path. */
export interface UpperEntry {
  readonly path: string;
  readonly stats: BigIntStats;
  /** `gone`: the path was deleted. `opaque`: a folder whose former contents are gone. */
  readonly kind: "file" | "symlink" | "directory" | "opaque" | "gone" | "other";
}

/** `unlock` opens folders that shut out their owner; only where nothing runs above the upper any more. */
export function* walkUpper(upper: string, options: WalkOptions = {}): Generator<UpperEntry> {
  for (const { path, stats } of walk(upper, options))
    yield { path, stats, kind: kindOf(`${upper}/${path}`, stats) };
}

export function kindOf(absolute: string, stats: BigIntStats): UpperEntry["kind"] {
  if (stats.isCharacterDevice() && stats.rdev === 0n) return "gone";
  if (stats.isFile()) return "file";
  if (stats.isSymbolicLink()) return "symlink";
  if (!stats.isDirectory()) return "other";
  const opaque = getXattr(absolute, "user.overlay.opaque");
  return opaque.ok && opaque.value[0] === "y".charCodeAt(0) ? "opaque" : "directory";
}
