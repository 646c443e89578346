import { lstatSync, mkdirSync, readFileSync, renameSync, type Stats, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WordIndex } from "../../application/ports/drafts.ts";
import type { Timers } from "../../application/ports/platform.ts";
import { workspaceId } from "../jobs/job-storage.ts";

/**
 * Rules files out of a search for words without reading them. Of each file it keeps a set of the letter triples in it (a
 * Bloom filter, some sixth of the file's size) under the file's size, times and inode. A word can only be in a file
 * that has all of its triples, so that nothing is missed; a file that seems to have them is read.
 *
 * Files are learned beside the wait for a model's answer, in short turns, and the index is written to PicoClaw's home
 * once that is worth it: `words/<workspace>.index`. See decision 081.
 */
export interface WordIndexDeps {
  readonly home: string;
  readonly root: string;
  readonly timers: Timers;
}

/** Fewer files are read sooner than an index of them. */
const WORTH_INDEXING = 1_000;
/** A file that changed just now may change once more under the same time. */
const SETTLED_MS = 3_000;
/** The request is sent first; then the index learns in turns of this length. */
const LEARN_AFTER_MS = 50;
const TURN_MS = 4;
const BETWEEN_TURNS_MS = 1;
/** A share of all files: to read a few again is cheaper than to write all of them. */
const WORTH_WRITING = 0.05;
const MOST_FILES = 40_000;
const MOST_BYTES = 64 * 1024 ** 2;

/** A file as it was when it was learned. */
interface LearnedFile {
  readonly size: number;
  readonly modified: number;
  readonly changed: number;
  readonly inode: number;
  /** Bits by the hash of a triple; empty for a file without text. */
  readonly triples: Uint32Array;
  /** The turn in which it was last seen to be as it was. */
  seenIn: number;
}

export function createWordIndex({ home, root, timers }: WordIndexDeps): WordIndex {
  const store = join(home, "words");
  const file = join(store, `${workspaceId(root)}.index`);
  let stored: StoredIndex | null = null;
  const learned = new Map<string, LearnedFile>();
  let unknown = new Set<string>();
  let unwritten = 0;
  let read: (path: string) => Uint8Array | null = () => null;
  let isLearning = false;
  /** One request searches twice before anything else has its turn; the second time no file is looked at again. */
  let turn = 0;
  let endTurn: (() => void) | null = null;

  /** Undefined where it is not known as it is now. */
  const recall = (path: string): LearnedFile | undefined => {
    const known = learned.get(path) ?? stored?.find(path);
    if (known === undefined || known.seenIn === turn) return known;
    const stats = lookAt(root, path);
    if (stats === undefined || !isAsLearned(known, stats)) {
      learned.delete(path);
      return undefined;
    }
    known.seenIn = turn;
    learned.set(path, known);
    return known;
  };

  const learn = (path: string): void => {
    const stats = lookAt(root, path);
    const settled = timers.now().getTime() - SETTLED_MS;
    if (stats === undefined || Math.max(stats.mtimeMs, stats.ctimeMs) > settled) return;
    const bytes = read(path);
    if (bytes === null) return;
    const { size, mtimeMs, ctimeMs, ino } = stats;
    const triples = collectTriples(bytes);
    learned.set(path, { size, modified: mtimeMs, changed: ctimeMs, inode: ino, triples, seenIn: 0 });
    unwritten += 1;
  };

  const takeTurn = (): void => {
    const until = performance.now() + TURN_MS;
    for (const path of unknown) {
      unknown.delete(path);
      learn(path);
      if (performance.now() > until) break;
    }
    isLearning = unknown.size > 0;
    if (isLearning) timers.after(BETWEEN_TURNS_MS, takeTurn);
    else if (unwritten > 0 && unwritten >= learned.size * WORTH_WRITING) write();
  };

  const write = (): void => {
    try {
      const files = stored === null ? learned : new Map([...stored.all(), ...learned]);
      const bytes = serialiseIndex(files.size > MOST_FILES ? learned : files);
      if (bytes.length > MOST_BYTES) return;
      mkdirSync(store, { recursive: true, mode: 0o700 });
      const next = `${file}.${process.pid}`;
      writeFileSync(next, bytes, { mode: 0o600 });
      renameSync(next, file);
      unwritten = 0;
    } catch {
      // The next process learns them again.
    }
  };

  return {
    openSearch(paths, words, readFile) {
      if (paths.length < WORTH_INDEXING) return () => true;
      stored ??= readIndex(file);
      read = readFile;
      const sought = words.map(hashesOf);
      if (endTurn === null) {
        turn += 1;
        endTurn = timers.after(0, () => {
          endTurn = null;
        });
      }
      if (!isLearning) {
        isLearning = true;
        unknown = new Set();
        timers.after(LEARN_AFTER_MS, takeTurn);
      }
      return (path) => {
        const known = recall(path);
        if (known !== undefined) return mayHoldAny(known.triples, sought);
        unknown.add(path);
        return true;
      };
    },
  };
}

function lookAt(root: string, path: string): Stats | undefined {
  try {
    const stats = lstatSync(`${root}/${path}`, { throwIfNoEntry: false });
    return stats?.isFile() ? stats : undefined;
  } catch {
    return undefined;
  }
}

function isAsLearned({ size, modified, changed, inode }: LearnedFile, stats: Stats): boolean {
  return (
    size === stats.size && modified === stats.mtimeMs && changed === stats.ctimeMs && inode === stats.ino
  );
}

/** Small and capital letters are one, so that the spellings of a word share their triples. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, code) => (code >= 65 && code <= 90 ? code + 32 : code));
/** Of Knuth's multiplicative hash: the upper bits are the well mixed ones. */
const FACTOR = 0x9e3779b1;
const FEWEST_BITS = 64;
const MOST_BITS = 65_536;

function collectTriples(bytes: Uint8Array): Uint32Array {
  if (bytes.length < 3) return new Uint32Array(bytes.length === 0 ? 0 : FEWEST_BITS / 32);
  let bits = FEWEST_BITS;
  while (bits < bytes.length * 0.75 && bits < MOST_BITS) bits *= 2;
  const triples = new Uint32Array(bits / 32);
  const shift = shiftFor(triples);
  let triple = ((FOLDED[bytes[0] as number] as number) << 8) | (FOLDED[bytes[1] as number] as number);
  for (let at = 2; at < bytes.length; at++) {
    triple = ((triple << 8) | (FOLDED[bytes[at] as number] as number)) & 0xffffff;
    const bit = Math.imul(triple, FACTOR) >>> shift;
    triples[bit >>> 5] = (triples[bit >>> 5] as number) | (1 << (bit & 31));
  }
  return triples;
}

/** As many upper bits of a hash as there are places, a power of two. */
function shiftFor(triples: Uint32Array): number {
  return Math.clz32(triples.length) - 4;
}

/** The hashes of a word's triples; none for a shorter one, which any file may hold. */
function hashesOf(word: Uint8Array): number[] {
  const hashes: number[] = [];
  for (let at = 2; at < word.length; at++) {
    const [first, second, third] = [at - 2, at - 1, at].map(
      (place) => FOLDED[word[place] as number] as number,
    );
    hashes.push(Math.imul(((first as number) << 16) | ((second as number) << 8) | (third as number), FACTOR));
  }
  return hashes;
}

/** Asked of every file with every word: plain loops, which are fast before anything is compiled. */
function mayHoldAny(triples: Uint32Array, words: readonly (readonly number[])[]): boolean {
  if (triples.length === 0) return false;
  const shift = shiftFor(triples);
  for (let word = 0; word < words.length; word++) {
    const hashes = words[word] as readonly number[];
    let at = 0;
    for (; at < hashes.length; at++) {
      const bit = (hashes[at] as number) >>> shift;
      if (((triples[bit >>> 5] as number) & (1 << (bit & 31))) === 0) break;
    }
    if (at === hashes.length) return true;
  }
  return false;
}

interface StoredIndex {
  find(path: string): LearnedFile | undefined;
  all(): Iterable<[string, LearnedFile]>;
}

/** Four numbers; then by file its facts, where its triples begin, the triples, and the paths with a zero between them. */
const MARK = 0x50435731;
const HEADER_BYTES = 16;
const FACTS = 4;

function serialiseIndex(files: ReadonlyMap<string, LearnedFile>): Buffer {
  const paths = Buffer.from([...files.keys()].join("\0"));
  const facts = new Float64Array(files.size * FACTS);
  const starts = new Uint32Array(files.size + 1);
  let count = 0;
  for (const { size, modified, changed, inode, triples } of files.values()) {
    facts.set([size, modified, changed, inode], count * FACTS);
    starts[count + 1] = (starts[count] as number) + triples.length;
    count += 1;
  }
  const triples = new Uint32Array(starts[count] as number);
  let at = 0;
  for (const one of files.values()) {
    triples.set(one.triples, at);
    at += one.triples.length;
  }
  const header = new Uint32Array([MARK, count, triples.length, paths.length]);
  return Buffer.concat([...[header, facts, starts, triples].map(({ buffer }) => Buffer.from(buffer)), paths]);
}

/** Null where there is none, or one of another form. */
function readIndex(file: string): StoredIndex | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return null;
  }
  if (bytes.byteOffset % 8 !== 0) bytes = Buffer.from(Uint8Array.from(bytes).buffer);
  if (bytes.length < HEADER_BYTES) return null;
  const { buffer, byteOffset } = bytes;
  const [mark, count = 0, words = 0, pathBytes = 0] = new Uint32Array(buffer, byteOffset, HEADER_BYTES / 4);
  const factsEnd = HEADER_BYTES + count * FACTS * 8;
  const startsEnd = factsEnd + (count + 1) * 4;
  const triplesEnd = startsEnd + words * 4;
  if (mark !== MARK || bytes.length !== triplesEnd + pathBytes) return null;
  const facts = new Float64Array(buffer, byteOffset + HEADER_BYTES, count * FACTS);
  const starts = new Uint32Array(buffer, byteOffset + factsEnd, count + 1);
  const triples = new Uint32Array(buffer, byteOffset + startsEnd, words);
  const paths = bytes.toString("utf8", triplesEnd).split("\0");
  const places = new Map(paths.map((path, at) => [path, at]));
  const learnedAt = (at: number): LearnedFile => ({
    size: facts[at * FACTS] as number,
    modified: facts[at * FACTS + 1] as number,
    changed: facts[at * FACTS + 2] as number,
    inode: facts[at * FACTS + 3] as number,
    triples: triples.subarray(starts[at], starts[at + 1]),
    seenIn: 0,
  });
  return {
    find(path) {
      const at = places.get(path);
      return at === undefined ? undefined : learnedAt(at);
    },
    *all() {
      for (const [path, at] of places) yield [path, learnedAt(at)];
    },
  };
}
