import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Identity } from "./entry-identity.ts";
import { readJson, syncFolder, writeDurably } from "./job-folder.ts";

/** The swap that is under way in a workspace. It stands on disk before the first rename and goes after the last. */
export interface Intent {
  readonly job_id: string;
  readonly direction: "commit" | "undo" | "redo";
  /** The job's turn when this swap is done; a job that says so already has only its intent left to clear. */
  readonly turn: number;
  /** Ops that have nothing to do, or are left out on purpose. */
  readonly skip: readonly number[];
  /** Where the check found something else than the record says: what goes out, what comes in. */
  readonly found: readonly (readonly [n: number, goes: Identity | null, comes: Identity | null])[];
  /** Read-only folders that are opened for the time of the swap, with the mode they get back. */
  readonly doors: readonly UnwritableFolder[];
  /** The swap failed half-way and what was moved is being put back. */
  readonly taking_back?: true;
}

export interface UnwritableFolder {
  readonly root: number;
  readonly path: string;
  readonly mode: number;
}

export function writeIntent(storage: string, intent: Intent): void {
  writeDurably(join(storage, "intent.json"), JSON.stringify(intent));
  syncFolder(storage);
}

export function readIntent(storage: string): Intent | null {
  return readJson<Intent>(join(storage, "intent.json"));
}

export function clearIntent(storage: string): void {
  rmSync(join(storage, "intent.json"), { force: true });
}
