import { type BigIntStats, lstatSync, readdirSync } from "node:fs";

/** What a decoder puts in the place of bytes that are no UTF-8; a name may also hold it as a character. */
const REPLACEMENT = "\ufffd";

/** The names in a folder, and apart from them those that are no UTF-8 and so cannot be said as text. */
export function namesIn(folder: string): { readonly texts: string[]; readonly bytes: readonly Buffer[] } {
  const texts = readdirSync(folder);
  if (!texts.some((name) => name.includes(REPLACEMENT))) return { texts, bytes: [] };
  const raw = readdirSync(folder, { encoding: "buffer" }) as Buffer[];
  const isText = (name: Buffer) => Buffer.from(name.toString("utf8")).equals(name);
  return {
    texts: raw.filter(isText).map((name) => name.toString("utf8")),
    bytes: raw.filter((name) => !isText(name)),
  };
}

export interface ByteEntry {
  /** Its path as a person can read it: bytes that are no UTF-8 as `\x83`. */
  readonly shown: string;
  readonly stats: BigIntStats;
}

/** Entries of a folder by their bytes, each with all below it. */
export function* walkBytes(folder: string, shown: string, names: readonly Buffer[]): Generator<ByteEntry> {
  const pending = names.map((name) => ({ within: Buffer.from(folder), shown, name }));
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const path = Buffer.concat([entry.within, SLASH, entry.name]);
    const told = `${entry.shown === "" ? "" : `${entry.shown}/`}${printBytes(entry.name)}`;
    const stats = readOrNull(() => lstatSync(path, { bigint: true }));
    if (stats === null) continue;
    yield { shown: told, stats };
    if (!stats.isDirectory()) continue;
    const below = readOrNull(() => readdirSync(path, { encoding: "buffer" }) as Buffer[]) ?? [];
    for (const name of below) pending.push({ within: path, shown: told, name });
  }
}

const SLASH = Buffer.from("/");

/** A name with what is no UTF-8 in it as escapes. */
function printBytes(name: Buffer): string {
  let said = "";
  for (let at = 0; at < name.length; ) {
    const length = [1, 2, 3, 4].find((n) => isCharacter(name.subarray(at, at + n), n));
    said +=
      length === undefined
        ? `\\x${(name[at] as number).toString(16).padStart(2, "0")}`
        : name.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return said;
}

function isCharacter(bytes: Buffer, length: number): boolean {
  const text = bytes.toString("utf8");
  return bytes.length === length && [...text].length === 1 && Buffer.from(text).equals(bytes);
}

/** What went meanwhile, or is shut, has nothing to say. */
function readOrNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return null;
  }
}
