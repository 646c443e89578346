import { closeSync, existsSync, openSync, readSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readNoFollow } from "./content.ts";
import { AFTER_IMAGES, type JobFolder, opSlotPath, type Plan, readJson } from "./job-folder.ts";

/** What a diff is read for; larger files are known only while they stand. */
const LARGEST_BYTES = 1024 ** 2;
const ALL_BYTES = 16 * 1024 ** 2;

type ImageRanges = Readonly<Record<string, readonly [offset: number, length: number]>>;

/**
 * Keeps the bytes that a job is about to put into the workspace, so that its diff can be told after the user has edited
 * the files. One file for all of them; it goes with the undo record.
 */
export function keepAfterImages(folder: JobFolder, plan: Plan): void {
  if (existsSync(join(folder.path, AFTER_IMAGES.places))) return;
  const places: Record<string, [number, number]> = {};
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const { n, b, area, inPlace } of plan.ops) {
    if (b?.kind !== "file" || area !== "file" || inPlace === true) continue;
    if (b.size > LARGEST_BYTES || length + b.size > ALL_BYTES) continue;
    const bytes = readOrNull(() => readNoFollow(opSlotPath(folder, n, "b")));
    if (bytes === null) continue;
    places[n] = [length, bytes.length];
    parts.push(bytes);
    length += bytes.length;
  }
  if (parts.length === 0) return;
  writeFileSync(join(folder.path, AFTER_IMAGES.bytes), Buffer.concat(parts), { mode: 0o600 });
  writeFileSync(join(folder.path, AFTER_IMAGES.places), JSON.stringify(places), { mode: 0o600 });
}

export function readAfterImage(folder: JobFolder, n: number): Uint8Array | undefined {
  const place = readJson<ImageRanges>(join(folder.path, AFTER_IMAGES.places))?.[n];
  if (place === undefined) return undefined;
  const [offset, length] = place;
  const bytes = new Uint8Array(length);
  const descriptor = openSync(join(folder.path, AFTER_IMAGES.bytes), "r");
  try {
    return readSync(descriptor, bytes, 0, length, offset) === length ? bytes : undefined;
  } finally {
    closeSync(descriptor);
  }
}

function readOrNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
