import { chmodSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { attemptOr } from "../../domain/platform/error-text.ts";

const [AT_ONCE, MOST_REMOVALS] = [10, 500];

/** Removes our folder with everything in it. The runtime stops where another process removed an entry, and says nothing: asked again. */
export function removeTree(path: string): void {
  for (let asked = 0; asked < MOST_REMOVALS; asked++) {
    removeOnce(path);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
    // The other process is ahead: it gets time to remove a part of the tree.
    if (asked >= AT_ONCE) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

function removeOnce(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isDirectory()) throw error;
    unlockFolders(path, stats.dev);
    rmSync(path, { recursive: true, force: true });
  }
}

/** Opens folders whose mode shuts out their owner; names are bytes. Another user's stay shut, and the removal reports them. */
function unlockFolders(root: string, device: number): void {
  const pending = [Buffer.from(root)];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const at = folder;
    const stats = attemptOr(undefined, () => lstatSync(at, { throwIfNoEntry: false }));
    if (stats?.isDirectory() !== true || stats.dev !== device) continue;
    if ((stats.mode & 0o700) !== 0o700)
      attemptOr(undefined, () => chmodSync(at, (stats.mode & 0o7777) | 0o700));
    const names = attemptOr([], () => readdirSync(at, { encoding: "buffer" }) as Buffer[]);
    for (const name of names) pending.push(Buffer.concat([at, Buffer.from("/"), name]));
  }
}
