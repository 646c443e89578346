import { createReadStream, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** Archives for the engine: ustar, with pax headers. By hand: the engine needs only files and folders, and a library costs more to load. */
interface TarHeader {
  readonly path: string;
  readonly kind: "file" | "directory";
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const BLOCK = 512;
const LARGEST_OCTAL = 8 ** 11 - 1;

function tarHeader(header: TarHeader): Uint8Array {
  const path = header.kind === "directory" ? `${header.path}/` : header.path;
  const extra: string[] = [];
  if (Buffer.byteLength(path) > 100) extra.push(paxRecord("path", path));
  if (header.size > LARGEST_OCTAL) extra.push(paxRecord("size", String(header.size)));
  const own = block({ ...header, path }, TYPES[header.kind]);
  if (extra.length === 0) return own;
  const body = Buffer.from(extra.join(""), "utf8");
  const pax = block({ ...header, path: "pax", size: body.length }, "x");
  return Buffer.concat([pax, body, tarPadding(body.length), own]);
}

const TYPES = { file: "0", directory: "5" } as const;

function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

function block({ path, mode, uid, gid, size }: TarHeader, type: string): Uint8Array {
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
  out.write("ustar\x0000", 257, "latin1");
  let sum = 0;
  for (const byte of out) sum += byte;
  out.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return out;
}

/** A record counts its own length too. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest) + 1;
  while (String(length).length + Buffer.byteLength(rest) !== length)
    length = String(length).length + Buffer.byteLength(rest);
  return `${length}${rest}`;
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

/** A folder whose files do not change meanwhile, with all files and folders in it; links, pipes and devices are left out. */
export function listEntries(
  folder: string,
  path: string,
  owner: Pick<TarHeader, "uid" | "gid">,
): ArchiveEntry[] {
  const below = readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" });
  const entries = below.flatMap((entry): ArchiveEntry[] => {
    if (!entry.isFile() && !entry.isDirectory()) return [];
    const place = join(entry.parentPath, entry.name);
    const { mode, size } = statSync(place);
    const named = { ...owner, path: `${path}/${relative(folder, place)}`, mode };
    if (entry.isDirectory()) return [{ ...named, kind: "directory", mode: mode | 0o700 }];
    return [{ ...named, kind: "file", size, content: () => createReadStream(place) }];
  });
  return [{ ...owner, kind: "directory", path, mode: 0o700 }, ...entries];
}

/** An archive that is made while it is read: a runtime of a hundred megabytes is never in memory at once. */
export function archiveStream(entries: readonly ArchiveEntry[]): ReadableStream<Uint8Array> {
  return streamOf(archivePieces(entries));
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

export async function* archivePieces(entries: readonly ArchiveEntry[]): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    const size = entry.kind === "file" ? entry.size : 0;
    yield tarHeader({ ...entry, size });
    if (entry.kind === "directory") continue;
    if (entry.content instanceof Uint8Array) yield entry.content;
    else yield* entry.content();
    const padding = tarPadding(size);
    if (padding.length > 0) yield padding;
  }
  // Two empty blocks end an archive.
  yield new Uint8Array(2 * BLOCK);
}
