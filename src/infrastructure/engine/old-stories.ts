import { lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeTree } from "./remove-tree.ts";
import { jobFolder, listJobIds, readState } from "./job-folder.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Removes jobs of which nothing but the story is left (thrown away, or evicted) once they are older than so many days;
 * 0 keeps them. Looks once a day, because it reads every job.
 */
export function removeOldStories(storage: string, days: number, now: () => Date): void {
  const mark = join(storage, "swept");
  const last = lstatSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (days === 0 || now().getTime() - last < DAY_MS) return;
  writeFileSync(mark, "");
  const oldest = now().getTime() - days * DAY_MS;
  for (const id of listJobIds(storage)) {
    const folder = jobFolder(storage, id);
    const state = readState(folder);
    if (state?.state !== "evicted" && state?.state !== "discarded") continue;
    if (Date.parse(state.at) < oldest) removeTree(folder.path);
  }
}
