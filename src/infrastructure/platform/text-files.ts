import {
  chmodSync,
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";

/** Null: there is no file. */
export function readTextFile(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Of a file that a user names on the command line; more than any patch or task has. */
const MOST_NAMED_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** A file, pipe or device as far as the bound; throws EFBIG where there is more: a link may lead to one that never ends. */
export function readBounded(path: string): Uint8Array {
  const fd = openSync(path, "r");
  try {
    return readDescriptorBounded(fd, path);
  } finally {
    closeSync(fd);
  }
}

/** Standard input to its end, under the same bound. */
export function readInputBounded(): Uint8Array {
  return readDescriptorBounded(0, "standard input");
}

function readDescriptorBounded(fd: number, path: string): Uint8Array {
  const tooLarge = () => Object.assign(new Error(`EFBIG: too large: ${path}`), { code: "EFBIG", path });
  const stats = fstatSync(fd);
  if (stats.isFile() && stats.size > MOST_NAMED_BYTES) throw tooLarge();
  const pieces: Uint8Array[] = [];
  for (let total = 0; ; ) {
    const piece = Buffer.allocUnsafe(stats.isFile() ? Math.max(PIECE_BYTES, stats.size) : PIECE_BYTES);
    const length = readWaiting(fd, piece);
    if (length === 0) return Buffer.concat(pieces);
    total += length;
    if (total > MOST_NAMED_BYTES) throw tooLarge();
    pieces.push(piece.subarray(0, length));
  }
}

/** A pipe or a terminal that another program has made non-blocking has nothing yet, which is not its end. */
function readWaiting(fd: number, piece: Uint8Array): number {
  for (;;) {
    try {
      return readSync(fd, piece);
    } catch (error) {
      if ((error as { code?: string }).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Puts a whole text in the place of a file, behind a link too, with the mode it had; null takes the file away. */
export function replaceFile(file: string, text: string | null): void {
  if (text === null) {
    rmSync(file, { force: true });
    return;
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const there = statSync(file, { throwIfNoEntry: false });
  const real = there === undefined ? file : realpathSync(file);
  const draft = `${real}.${process.pid}.tmp`;
  // Of a process that had this number and died.
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, text, { flag: "wx", mode: 0o600 });
    // By name: a mode at its creation would lose what the umask forbids.
    if (there !== undefined) chmodSync(draft, there.mode & 0o777);
    renameSync(draft, real);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** The id in a file, made by the first process that asks: of several at once one links its file first, and all read that one. */
export function readOrMakeId(file: string, newId: () => string, isId: (text: string) => boolean): string {
  const read = () => {
    const id = attemptOr("", () => readFileSync(file, "utf8").trim());
    return isId(id) ? id : null;
  };
  const known = read();
  if (known !== null) return known;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const own = `${file}.${crypto.randomUUID()}`;
  const id = newId();
  writeFileSync(own, `${id}\n`, { mode: 0o600 });
  try {
    linkSync(own, file);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") renameSync(own, file);
  } finally {
    rmSync(own, { force: true });
  }
  return read() ?? id;
}

/** A YAML text by the runtime's own reader, which is loaded already; undefined where it is not YAML. */
export function readYaml(text: string): unknown {
  return attemptOr(undefined, () => Bun.YAML.parse(text));
}

/** A link to a folder is none. */
export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The path without symlinks; null for what is not there. */
export function realPathOf(path: string): string | null {
  return attemptOr(null, () => realpathSync(path));
}

/** The lines that a person typed in the terminal's chat, kept between runs. */
export function openChatHistory(home: string): { readonly file: string; save(text: string): void } {
  const file = join(home, "chat-history.ndjson");
  return {
    file,
    // A home that cannot be written keeps no history.
    save: (text) => attemptOr(undefined, () => writeFileSync(file, text, { mode: 0o600 })),
  };
}

/** A file of JSON or YAML. JSON is read without the YAML library, which takes 30 ms to load. */
export async function readDocument(file: string): Promise<unknown> {
  const text = readFileSync(file, "utf8");
  if (file.endsWith(".json")) return JSON.parse(text);
  const { parse } = await import("yaml");
  return parse(text, { maxAliasCount: 100 });
}
