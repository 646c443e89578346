import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  openSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { copyXattrs } from "../platform/xattr.ts";

/** A file or a symlink with its mode, times, owner and attributes; blocks are shared where the file system can. */
export function copyEntry(from: string, to: string): void {
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  if (process.getuid?.() === 0) lchownSync(to, stats.uid, stats.gid);
  if (stats.isFile()) {
    chmodSync(to, 0o600);
    const descriptor = openSync(to, "r+");
    try {
      copyXattrs(from, descriptor);
    } finally {
      closeSync(descriptor);
    }
    chmodSync(to, stats.mode & 0o7777);
  }
  lutimesSync(to, stats.atime, stats.mtime);
}
