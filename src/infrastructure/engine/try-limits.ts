import { findInstallation } from "../platform/runtime-installation.ts";
import { removeTree } from "./remove-tree.ts";
import { trialFolder } from "./trial-folder.ts";
import { createLimitCopy, limitedEntry } from "./limited-copy.ts";

/** Whether a process of a limited job is really kept from writing outside: tried, not concluded. */
export async function tryLimits(storage: string): Promise<boolean> {
  const installation = findInstallation();
  const folder = trialFolder(storage);
  if (typeof folder !== "string") return false;
  try {
    const readable = [installation.folder, installation.runtime];
    const parts = { entry: limitedEntry(installation), readable, shown: null, closed: [] };
    const limited = await createLimitCopy(() => parts)?.(folder, [], { network: true });
    limited?.stop();
    return limited !== null && limited !== undefined;
  } finally {
    removeTree(folder);
  }
}
