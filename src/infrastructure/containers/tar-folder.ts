import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from "node:fs";
import { join } from "node:path";
import { tarEnd, tarHeader, tarPadding } from "./tar-archive.ts";

const CHUNK_BYTES = 1024 ** 2;

export interface TarOwner {
  readonly uid: number;
  readonly gid: number;
}

/** A folder as an archive, piece by piece: nothing is held whole. Links stay links; pipes and devices are left out. */
export async function* tarFolder(
  folder: string,
  prefix: string,
  owner: TarOwner,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* entriesBelow(folder, prefix, owner, signal);
  yield tarEnd();
}

async function* entriesBelow(
  folder: string,
  path: string,
  owner: TarOwner,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  yield tarHeader({ ...owner, path, kind: "directory", size: 0, mode: lstatSync(folder).mode | 0o700 });
  for (const name of readdirSync(folder).sort()) {
    const absolute = join(folder, name);
    const below = `${path}/${name}`;
    const stats = lstatSync(absolute);
    if (stats.isDirectory()) yield* entriesBelow(absolute, below, owner, signal);
    else if (stats.isSymbolicLink())
      yield tarHeader({
        ...owner,
        path: below,
        kind: "symlink",
        size: 0,
        mode: 0o777,
        target: readlinkSync(absolute),
      });
    else if (stats.isFile()) yield* fileEntry(absolute, below, owner);
  }
}

/** The size that the header names is what follows, even where the file grows or shrinks meanwhile. */
async function* fileEntry(absolute: string, path: string, owner: TarOwner): AsyncGenerator<Uint8Array> {
  const fd = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size, mode } = fstatSync(fd);
    yield tarHeader({ ...owner, path, kind: "file", size, mode });
    for (let at = 0; at < size; ) {
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, size - at));
      const got = readSync(fd, chunk, 0, chunk.length, at);
      yield got === 0 ? chunk : chunk.subarray(0, got);
      at += got === 0 ? chunk.length : got;
    }
    yield tarPadding(size);
  } finally {
    closeSync(fd);
  }
}
