import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Interruption } from "../../domain/jobs/interruption.ts";
import { type JobFolder, readText } from "./job-folder.ts";

/** A swap that was cut off, and how a repair settled it. */
export interface RepairMark extends Interruption {
  readonly outcome: "finished" | "taken-back";
  /** The turn that the swap was to end. */
  readonly turn: number;
}

/** Written before the repair is settled: a repair that is cut off itself writes another, and loses no path. */
export function addRepairMark(folder: JobFolder, mark: RepairMark): void {
  const fd = openSync(marksPath(folder), "a", 0o600);
  try {
    writeSync(fd, `${JSON.stringify(mark)}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** One for each swap that was repaired, oldest first. */
export function readRepairMarks(folder: JobFolder): RepairMark[] {
  const marks = new Map<string, RepairMark>();
  for (const line of (readText(marksPath(folder)) ?? "").split("\n")) {
    const mark = markOf(line);
    if (mark === null) continue;
    const key = `${mark.turn} ${mark.outcome}`;
    const left = new Set([...(marks.get(key)?.left ?? []), ...mark.left]);
    marks.set(key, { ...mark, left: [...left] });
  }
  return [...marks.values()];
}

/** A line that a crash cut short is left out. */
function markOf(line: string): RepairMark | null {
  try {
    return line === "" ? null : (JSON.parse(line) as RepairMark);
  } catch {
    return null;
  }
}

function marksPath({ path }: JobFolder): string {
  return join(path, "repairs.ndjson");
}
