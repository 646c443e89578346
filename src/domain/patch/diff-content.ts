import type { BinaryPatch, DiffFile, HunkReport } from "./patch-command.ts";
import { editFile } from "./edit-file.ts";
import type { WorkBudget } from "./work-budget.ts";

/** What the planner is given, because the domain itself does no such work. */
export interface PlanOptions {
  /** Inflates zlib data to exactly `size` bytes; throws on corrupt data. */
  readonly inflate: (data: Uint8Array, size: number) => Uint8Array;
  /** Lower-case hex SHA-1; with it, binary patches are checked against the blobs they name. */
  readonly sha1?: (bytes: Uint8Array) => string;
}

export type ContentResult =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly reports: readonly HunkReport[] }
  | { readonly ok: false; readonly message: string; readonly reports: readonly HunkReport[] };

/** The new content of one file of a diff. */
export function diffContent(
  file: DiffFile,
  path: string,
  old: Uint8Array,
  options: PlanOptions,
  budget: WorkBudget,
): ContentResult {
  if (file.change === "text") {
    if (file.hunks.length === 0) return { ok: true, bytes: old, reports: [] };
    const edited = editFile(path, old, file.hunks, "diff", budget);
    return edited.ok
      ? { ok: true, bytes: edited.bytes, reports: edited.reports }
      : { ok: false, message: `${path}: patch does not apply`, reports: edited.reports };
  }
  const refuse = (message: string): ContentResult => ({
    ok: false,
    message,
    reports: [{ path, hunk: 0, status: "refused", message }],
  });
  if (file.forward === undefined)
    return refuse(`${path}: the patch says that binary files differ but does not carry the change`);
  if (!isFullBlob(file.oldBlob) || !isFullBlob(file.newBlob))
    return refuse(`${path}: cannot apply a binary patch without full index line`);
  if (file.oldPath !== null && !isBlob(old, file.oldBlob, options))
    return refuse(`${path}: the binary patch is made for other content`);
  // The way back is not gone here, but where it is cut off the patch as a whole did not arrive.
  if (file.reverse !== undefined && inflated(file.reverse, options) === null)
    return refuse(
      `${path}: the reverse part of the binary patch is corrupt; the patch may have been cut off`,
    );
  if (/^0+$/.test(file.newBlob)) return { ok: true, bytes: new Uint8Array(), reports: [] };
  const bytes = binaryResult(file.forward, old, options);
  if (bytes === null) return refuse(`${path}: binary patch does not apply`);
  if (!isBlob(bytes, file.newBlob, options)) return refuse(`${path}: binary patch creates incorrect result`);
  return { ok: true, bytes, reports: [{ path, hunk: 1, status: "applied", strategy: "exact" }] };
}

function binaryResult(patch: BinaryPatch, old: Uint8Array, options: PlanOptions): Uint8Array | null {
  const data = inflated(patch, options);
  return data === null || patch.method === "literal" ? data : applyGitDelta(old, data);
}

function inflated(patch: BinaryPatch, options: PlanOptions): Uint8Array | null {
  try {
    const data = options.inflate(patch.data, patch.size);
    return data.length === patch.size ? data : null;
  } catch {
    return null;
  }
}

function isFullBlob(blob: string | undefined): blob is string {
  return blob !== undefined && (blob.length === 40 || blob.length === 64);
}

function isBlob(bytes: Uint8Array, blob: string, { sha1 }: PlanOptions): boolean {
  if (sha1 === undefined || blob.length !== 40) return true;
  return sha1(Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes])) === blob;
}

/** git's binary delta: copy from the old content or insert new bytes. Null where it does not fit the old content. */
function applyGitDelta(old: Uint8Array, delta: Uint8Array): Uint8Array | null {
  let at = 0;
  const readSize = (): number => {
    let size = 0;
    let scale = 1;
    for (; at < delta.length; scale *= 128) {
      const byte = delta[at++]!;
      size += (byte & 127) * scale;
      if ((byte & 128) === 0) return size;
    }
    return -1;
  };
  if (readSize() !== old.length) return null;
  const size = readSize();
  if (size < 0 || size > 0x7fffffff) return null;
  const out = new Uint8Array(size);
  let to = 0;
  while (at < delta.length) {
    const op = delta[at++]!;
    if (op === 0) return null;
    let from = 0;
    let length = op;
    if (op & 128) {
      for (let k = 0; k < 4; k++) if (op & (1 << k)) from += (delta[at++] ?? 0) * 2 ** (8 * k);
      length = 0;
      for (let k = 0; k < 3; k++) if (op & (16 << k)) length += (delta[at++] ?? 0) << (8 * k);
      if (length === 0) length = 0x10000;
    }
    const source = op & 128 ? old : delta;
    if ((op & 128) === 0) {
      from = at;
      at += length;
    }
    if (from + length > source.length || to + length > size) return null;
    out.set(source.subarray(from, from + length), to);
    to += length;
  }
  return to === size ? out : null;
}
