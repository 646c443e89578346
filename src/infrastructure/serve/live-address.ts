import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { createOwnerNames, isAlive, readLinuxStartTime } from "../platform/process-table.ts";
import { isStoreFileGone, type NotedStoreFile, noteStoreFile } from "../store/store-files.ts";

interface KeptAddress {
  readonly address: string;
  readonly pid: number;
  /** Where the number of the process means something. */
  readonly place: string;
  /** A reused process number belongs to another process. Null where that cannot be determined. */
  readonly started: number | null;
  readonly since: string;
  /** The embedded store that it has open; absent where it has none. */
  readonly store?: NotedStoreFile & { readonly file: string };
}

/** `storeFile`: its embedded store. If the home cannot be written, `serve link` takes the configured address. */
export function noteAddress(
  home: string,
  { address, storeFile }: { readonly address: string; readonly storeFile: string | null },
  now: Date,
): () => void {
  const { pid } = process;
  const file = join(addressFolder(home), `${pid}.json`);
  const { place } = createOwnerNames(pid);
  const noted = storeFile === null ? null : noteStoreFile(storeFile);
  const kept: KeptAddress = {
    address,
    pid,
    place,
    started: readLinuxStartTime(pid) ?? null,
    since: now.toISOString(),
    ...(storeFile !== null && noted !== null && { store: { file: storeFile, ...noted } }),
  };
  try {
    mkdirSync(addressFolder(home), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify(kept), { mode: 0o600 });
  } catch {
    return () => {};
  }
  return () => rmSync(file, { force: true });
}

/** The one that started last; null when none listens. A dead server leaves no note. */
export function liveAddress(home: string): string | null {
  return listLive(home)[0]?.address ?? null;
}

/** Null if all is well: a server never reads a new file in the place of the one that it has open. */
export function findGoneStore(home: string): string | null {
  const gone = listLive(home).find(({ store }) => store !== undefined && isStoreFileGone(store.file, store));
  return gone?.store?.file ?? null;
}

/** The last to start first. */
function listLive(home: string): KeptAddress[] {
  const { place } = createOwnerNames(process.pid);
  const live: KeptAddress[] = [];
  for (const name of namesIn(home)) {
    const file = join(addressFolder(home), name);
    const kept = readAddress(file);
    if (kept !== null && kept.place !== place) continue;
    if (kept !== null && serverRuns(kept)) live.push(kept);
    else rmSync(file, { force: true });
  }
  return live.sort((x, y) => (x.since < y.since ? 1 : -1));
}

function serverRuns({ pid, started }: KeptAddress): boolean {
  return isAlive(pid) && (started === null || readLinuxStartTime(pid) === started);
}

function addressFolder(home: string): string {
  return join(home, "serving");
}

function namesIn(home: string): string[] {
  return attemptOr([], () => readdirSync(addressFolder(home)).filter((name) => name.endsWith(".json")));
}

function readAddress(file: string): KeptAddress | null {
  const kept: Partial<KeptAddress> | null = attemptOr(null, () => JSON.parse(readFileSync(file, "utf8")));
  const whole = typeof kept?.address === "string" && typeof kept.pid === "number";
  return whole ? (kept as KeptAddress) : null;
}
