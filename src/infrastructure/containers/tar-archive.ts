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

/**
 * Archives for the engine: ustar, with a pax header for what ustar cannot hold. By hand, since the engine needs only
 * files, folders and links, and a stream library costs more to load than this is long.
 */
interface TarHeader {
  readonly path: string;
  readonly kind: "file" | "directory" | "symlink";
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Where a symlink leads. */
  readonly target?: string;
}

const BLOCK = 512;
const LARGEST_OCTAL = 8 ** 11 - 1;

/** The blocks before an entry's bytes. */
function tarHeader(header: TarHeader): Uint8Array {
  const path = header.kind === "directory" ? `${header.path}/` : header.path;
  const extra: string[] = [];
  if (byteLength(path) > 100) extra.push(paxRecord("path", path));
  if (byteLength(header.target ?? "") > 100) extra.push(paxRecord("linkpath", header.target ?? ""));
  if (header.size > LARGEST_OCTAL) extra.push(paxRecord("size", String(header.size)));
  const own = block({ ...header, path }, TYPES[header.kind]);
  if (extra.length === 0) return own;
  const body = Buffer.from(extra.join(""), "utf8");
  const pax = block({ ...header, path: "pax", size: body.length, target: "" }, "x");
  return Buffer.concat([pax, body, tarPadding(body.length), own]);
}

const TYPES = { file: "0", directory: "5", symlink: "2" } as const;

/** The bytes that fill an entry's last block. */
function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

/** Two empty blocks end an archive. */
function tarEnd(): Uint8Array {
  return new Uint8Array(2 * BLOCK);
}

function block({ path, mode, uid, gid, size, target = "" }: TarHeader, type: string): Uint8Array {
  const out = Buffer.alloc(BLOCK);
  const text = (value: string, at: number, length: number) =>
    out.set(Buffer.from(value, "utf8").subarray(0, length), at);
  const octal = (value: number, at: number, length: number) =>
    out.write(
      Math.min(value, 8 ** (length - 1) - 1)
        .toString(8)
        .padStart(length - 1, "0"),
      at,
      "latin1",
    );
  text(path, 0, 100);
  octal(mode & 0o7777, 100, 8);
  octal(uid, 108, 8);
  octal(gid, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  out.fill(0x20, 148, 156);
  out.write(type, 156, "latin1");
  text(target, 157, 100);
  out.write("ustar\x0000", 257, "latin1");
  let sum = 0;
  for (const byte of out) sum += byte;
  out.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return out;
}

/** A record counts its own length too. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = byteLength(rest) + 1;
  while (String(length).length + byteLength(rest) !== length)
    length = String(length).length + byteLength(rest);
  return `${length}${rest}`;
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

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

/** The entries that are put into containers. Paths are relative to the root. */
export type ArchiveEntry = Pick<TarHeader, "path" | "mode" | "uid" | "gid"> &
  (
    | { readonly kind: "directory" }
    | {
        readonly kind: "file";
        readonly size: number;
        readonly content: Uint8Array | (() => AsyncIterable<Uint8Array>);
      }
  );

/** An archive that is made while it is read: a runtime of a hundred megabytes is never in memory at once. */
export function archiveStream(entries: readonly ArchiveEntry[]): ReadableStream<Uint8Array> {
  return streamOf(chunksOf(entries));
}

export function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await iterator.return?.()),
  });
}

async function* chunksOf(entries: readonly ArchiveEntry[]): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    const size = entry.kind === "file" ? entry.size : 0;
    yield tarHeader({ ...entry, size });
    if (entry.kind === "directory") continue;
    if (entry.content instanceof Uint8Array) yield entry.content;
    else yield* entry.content();
    const padding = tarPadding(size);
    if (padding.length > 0) yield padding;
  }
  yield tarEnd();
}
