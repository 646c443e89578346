import type { BigIntStats } from "node:fs";
import { type SealNote, sealNote } from "../../domain/jobs/seal-note.ts";
import type { Identity } from "./entry-identity.ts";
import { sameAttributes } from "./compare-entries.ts";

interface KeptFolder {
  readonly path: string;
  readonly a: Identity | null;
  readonly stats: BigIntStats;
  /** Where it stands in the workspace and in the view. */
  readonly from: string;
  readonly to: string;
  /** Whether a change of its owner is brought in. */
  readonly carriesOwner?: boolean;
}

/** A folder that stood there before stays the same one and gets only its mode: what else the job changed on it is said. */
export function keptFolder({ path, a, stats, from, to, carriesOwner = false }: KeptFolder): SealNote[] {
  if (a?.kind !== "directory" || !stats.isDirectory()) return [];
  const notes: SealNote[] = [];
  // Only root gives folders away on purpose.
  const isGiven = !carriesOwner && process.getuid?.() === 0;
  if (isGiven && (Number(stats.uid) !== a.uid || Number(stats.gid) !== a.gid))
    notes.push(sealNote("folder-owner", path));
  if (!sameAttributes(from, to)) notes.push(sealNote("folder-attributes", path));
  return notes;
}
