import { attemptOr } from "./error-text.ts";
export function isSameFile(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && Buffer.compare(one, other) === 0;
}

/** A body, or its beginning: past the limit nothing more is read, which ends the transfer. */
export async function readUpTo(body: Response["body"] | Request["body"], limitBytes: number) {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    size += piece.length;
    if (size > limitBytes) break;
  }
  return { bytes: Buffer.concat(pieces), isWhole: size <= limitBytes };
}

/** The text of a file; null where it is not UTF-8 text. */
export function decodeText(bytes: Uint8Array): string | null {
  return bytes.includes(0) ? null : decodeUtf8(bytes);
}

/** Null where the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  return attemptOr(null, () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
}

/** The lines of a text without their ends, and without the empty one after the last. */
export function toLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Written by package managers: two of them together are a third that none of them wrote. */
const LOCK_FILE =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|go\.sum|flake\.lock)$/;

export function isLockFile(path: string): boolean {
  return LOCK_FILE.test(path);
}
