import { lstatSync, mkdirSync, readFileSync, renameSync, type Stats, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WordIndex } from "../../application/ports/drafts.ts";
import type { Timers } from "../../application/ports/platform.ts";
import { workspaceId } from "../platform/workspace-storage.ts";

/**
 * Rules files out of a search for words without reading them. For each file it keeps the set of its letter triples (a Bloom filter, about
 * a sixth of the file's size) with the file's size, times and inode. A word can only be in a file with all of its triples, so no match is
 * missed; a file that seems to have them is read.
 *
 * The index learns files in short turns while a model answers, and is written to `words/<workspace>.index` in PicoClaw's home when enough
 * of it is new. See decision 081.
 */
export interface WordIndexDeps {
  readonly home: string;
  readonly root: string;
  readonly timers: Timers;
}

/** Reading fewer files is faster than an index. */
const WORTH_INDEXING = 1_000;
/** A file that changed just now may change again within the same time stamp. */
const SETTLED_MS = 3_000;
/** The request is sent first; then the index learns in turns of this length. */
const LEARN_AFTER_MS = 50;
const TURN_MS = 4;
const BETWEEN_TURNS_MS = 1;
/** The share of new files from which the index is written: reading a few again is cheaper than writing all. */
const WORTH_WRITING = 0.05;
const MOST_FILES = 40_000;
const MOST_BYTES = 64 * 1024 ** 2;

/** A file's state when the index learned it. */
interface LearnedFile {
  readonly size: number;
  readonly modified: number;
  readonly changed: number;
  readonly inode: number;
  /** Bits by the hash of a triple; empty for a file without text. */
  readonly triples: Uint32Array;
  /** The turn in which the file was last seen unchanged. */
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
  /** One request searches twice within one turn; the second search does not examine the files again. */
  let turn = 0;
  let endTurn: (() => void) | null = null;

  /** Undefined if the file is unknown, or changed since. */
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
      // Without the file, the next process learns again.
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

/** Folds capital letters, so that all spellings of a word share their triples. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, code) => (code >= 65 && code <= 90 ? code + 32 : code));
/** The factor of Knuth's multiplicative hash, whose upper bits are well mixed. */
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

/** The shift that leaves as many upper bits of a hash as address all places; their number is a power of two. */
function shiftFor(triples: Uint32Array): number {
  return Math.clz32(triples.length) - 4;
}

/** The hashes of a word's triples; none for a word of fewer letters, which any file may contain. */
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

/** Called for every file and word: plain loops are fast even before they are compiled. */
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

/** The format: four numbers; for each file its facts and the start of its triples; the triples; the paths, separated by zeros. */
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

/** Null if there is none, or if its format is unknown. */
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
