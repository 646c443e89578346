import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { RUNS } from "./loaded-pieces.ts";

const LIST = "pieces.json";
const KEPT_MS = 7 * 24 * 3600_000;
/** A name with the hash of its contents: no other build means another file by it. */
const HASHED = new RegExp(`^(chunk|${RUNS.join("|")})-\\w+\\.js(\\.jsc)?$`);

interface Builds {
  /** The build that is about to be replaced; it need not exist. Null: nothing of it is kept. */
  readonly earlier: string | null;
  readonly fresh: string;
  readonly nowMs: number;
}

/**
 * Takes the pieces of earlier builds over into a fresh one, for a week after they were replaced: a process that
 * started from them asks for some of them only later.
 */
export function keepEarlierPieces({ earlier, fresh, nowMs }: Builds): void {
  const made = readdirSync(fresh).filter((name) => HASHED.test(name));
  writeFileSync(join(fresh, LIST), JSON.stringify(made));
  if (earlier === null || !existsSync(earlier)) return;
  const present = new Set(made);
  const replacedNow = namesOf(earlier);
  for (const name of readdirSync(earlier)) {
    if (!HASHED.test(name) || present.has(name)) continue;
    const file = join(earlier, name);
    if (replacedNow === null || replacedNow.has(name)) utimesSync(file, nowMs / 1000, nowMs / 1000);
    else if (nowMs - statSync(file).mtimeMs > KEPT_MS) continue;
    linkSync(file, join(fresh, name));
  }
}

/** Tells the files of a build from the pieces that it keeps of earlier ones. */
export function ownFileTest(build: string): (path: string) => boolean {
  const made = namesOf(build);
  return (path) => !HASHED.test(basename(path)) || made === null || made.has(basename(path));
}

/** The files that the build itself made, or null where it kept no list that can be read. */
export function namesOf(build: string): ReadonlySet<string> | null {
  try {
    return new Set(JSON.parse(readFileSync(join(build, LIST), "utf8")) as string[]);
  } catch {
    return null;
  }
}
