import { readlinkSync } from "node:fs";
import type { Identity } from "../workspace/identity.ts";

export interface Compared {
  readonly a: Identity;
  readonly b: Identity;
  readonly aHash: string | undefined;
  readonly bHash: string | undefined;
  readonly isIndex: boolean;
  /** Where the two stand now. */
  readonly from: string;
  readonly to: string;
}

/** A time that was set again loses its last digits. */
const MICROSECONDS = 10_000n;

/** Whether nothing a person could see differs: kind, mode, bytes and, but for an index, the time of change. */
export function sameToAPerson({ a, b, aHash, bHash, isIndex, from, to }: Compared): boolean {
  if (a.kind !== b.kind || a.mode !== b.mode) return false;
  if (isIndex) return aHash !== undefined && aHash === bHash;
  if (a.kind === "symlink") return readlinkSync(to) === readlinkSync(from);
  if (a.size !== b.size || aHash !== bHash) return false;
  const apart = BigInt(a.mtime) - BigInt(b.mtime);
  return aHash === undefined ? apart === 0n : apart > -MICROSECONDS && apart < MICROSECONDS;
}
