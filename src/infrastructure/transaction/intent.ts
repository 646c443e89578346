import { rmSync } from "node:fs";
import { join } from "node:path";
import { readJson, syncFolder, writeDurably } from "./job-folder.ts";

/** The swap that is under way in a workspace. It stands on disk before the first rename and goes after the last. */
export interface Intent {
  readonly job_id: string;
  readonly direction: "commit" | "undo" | "redo";
  /** Ops that the swap leaves out on purpose. */
  readonly skip: readonly number[];
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
