import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { toViewFault, ViewFault } from "../../application/ports/view.ts";
import type { WorkspaceFiles } from "../../application/ports/workspace-files.ts";
import { inParent } from "./anchor.ts";
import { createFolderView } from "./folder-view.ts";

/** A folder as tools read it: no symlink is followed, and only regular files are opened. */
export function createWorkspaceFiles(root: string): WorkspaceFiles {
  const { look, list, read } = createFolderView(root);
  return {
    look,
    list,
    read,
    readPart(path, offset, length) {
      try {
        return inParent(root, path, (folder, name) => readPart(`${folder}/${name}`, path, offset, length));
      } catch (error) {
        throw toViewFault(error, path);
      }
    },
  };
}

function readPart(absolute: string, path: string, offset: number, length: number): Uint8Array {
  const fd = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new ViewFault("not-a-file", path, `not a regular file: ${path}`);
    const part = Buffer.alloc(Math.max(0, Math.min(length, stats.size - offset)));
    let filled = 0;
    while (filled < part.length) {
      const count = readSync(fd, part, filled, part.length - filled, offset + filled);
      if (count === 0) break;
      filled += count;
    }
    return part.subarray(0, filled);
  } finally {
    closeSync(fd);
  }
}
