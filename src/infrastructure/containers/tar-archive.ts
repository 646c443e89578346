/**
 * Archives for the engine: ustar, with a pax header for what ustar cannot hold. By hand, since the engine needs only
 * files, folders and links, and a stream library costs more to load than this is long.
 */
export interface TarHeader {
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
export function tarHeader(header: TarHeader): Uint8Array {
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

/** What fills an entry's last block. */
export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

/** Two empty blocks end an archive. */
export function tarEnd(): Uint8Array {
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
