import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { JobCommand } from "../run-job.ts";

export interface NewContent {
  readonly bytes: Uint8Array;
  /** Permission bits, where they change too. */
  readonly mode?: number;
}

/**
 * The commands that make a file what it is to be. Text is a plain `update`, readable in the journal; bytes that are
 * no UTF-8, or a new mode, go as git's binary patch, which carries both exactly.
 */
export function replacementCommands(
  path: string,
  before: Uint8Array | null,
  mode: number,
  next: NewContent | "delete",
): readonly JobCommand[] | string {
  if (next === "delete") return [{ type: "file_edit", action: "delete", target: path }];
  const newMode = next.mode ?? mode;
  const text = utf8(next.bytes);
  if (text !== null && isExecutable(newMode) === isExecutable(mode))
    return [
      { type: "file_edit", action: before === null ? "create" : "update", target: path, content: text },
    ];
  return binaryPatch(path, before, mode, next.bytes, newMode);
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function isExecutable(mode: number): boolean {
  return (mode & 0o111) !== 0;
}

function binaryPatch(
  path: string,
  before: Uint8Array | null,
  mode: number,
  after: Uint8Array,
  newMode: number,
): string {
  const gitMode = (bits: number) => (isExecutable(bits) ? "100755" : "100644");
  const header = [`diff --git ${quoted(`a/${path}`)} ${quoted(`b/${path}`)}`];
  const changesMode = isExecutable(mode) !== isExecutable(newMode);
  if (before === null) header.push(`new file mode ${gitMode(newMode)}`);
  else if (changesMode) header.push(`old mode ${gitMode(mode)}`, `new mode ${gitMode(newMode)}`);
  const blobs = `${before === null ? "0".repeat(40) : blobOf(before)}..${blobOf(after)}`;
  header.push(
    `index ${blobs}${before === null || changesMode ? "" : ` ${gitMode(mode)}`}`,
    "GIT binary patch",
  );
  return `${header.join("\n")}\n${literal(after)}`;
}

function blobOf(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** C-style quotes, as git writes them: unambiguous whatever the name holds. */
function quoted(name: string): string {
  const plain = (byte: number) => byte >= 32 && byte < 127 && byte !== 0x22 && byte !== 0x5c;
  const letters = [...Buffer.from(name, "utf8")].map((byte) =>
    plain(byte) ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`,
  );
  return `"${letters.join("")}"`;
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const LINE_BYTES = 52;

/** Deflated, in git's base 85: a length letter, then five digits for every four bytes. */
function literal(bytes: Uint8Array): string {
  const data = deflateSync(bytes);
  const lines = [`literal ${bytes.length}`];
  for (let at = 0; at < data.length; at += LINE_BYTES) {
    const chunk = data.subarray(at, at + LINE_BYTES);
    const letter = chunk.length <= 26 ? 64 + chunk.length : 96 + chunk.length - 26;
    let line = String.fromCharCode(letter);
    for (let k = 0; k < chunk.length; k += 4) {
      let value = 0;
      for (let j = 0; j < 4; j++) value = value * 256 + (chunk[k + j] ?? 0);
      let digits = "";
      for (let j = 0; j < 5; j++) {
        digits = ALPHABET.charAt(value % 85) + digits;
        value = Math.floor(value / 85);
      }
      line += digits;
    }
    lines.push(line);
  }
  return `${lines.join("\n")}\n\n`;
}
