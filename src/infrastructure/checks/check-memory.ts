import { lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenChecksDeps } from "../../application/checks/baseline.ts";
import type { JudgedDraft } from "../../application/checks/judge-draft.ts";
import type { CheckMemory, CheckRecord, KnownCommands } from "../../application/ports/checks.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isSeenAsWhole } from "../../domain/policy/protection.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";
import { findProgram } from "../platform/find-program.ts";
import { hashHex } from "../platform/hash.ts";
import { walkFolder } from "../platform/walk-folder.ts";
import { workspaceId } from "../platform/workspace-storage.ts";

/** Installing packages changes their folder, or one of these lists in it. */
const LISTS = [".package-lock.json", ".yarn-state.yml", ".modules.yaml", "pyvenv.cfg"];

/** From metadata alone. Git's own folder is left out, because commits change no file that a test sees, and so are PicoClaw's. */
function workspaceFingerprint(root: string, own: readonly string[], except: readonly string[]): string {
  const parts: string[] = [];
  const left = new Set(except);
  for (const path of except)
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      left.add(path.slice(0, at));
  const enter = (path: string, stats: { isDirectory(): boolean; mtimeNs: bigint }) => {
    if (path === ".git" || path.endsWith("/.git") || own.includes(`${root}/${path}`)) return false;
    if (!stats.isDirectory() || !isSeenAsWhole(path.slice(path.lastIndexOf("/") + 1))) return true;
    const lists = LISTS.map((name) => modifiedTime(`${root}/${path}/${name}`));
    parts.push(`${path} ${stats.mtimeNs} ${lists.join(" ")}`);
    return false;
  };
  for (const { path, stats } of walkFolder(root, { enter }))
    if (!left.has(path))
      parts.push(
        stats.isDirectory()
          ? `${path}/`
          : `${path} ${stats.mode} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`,
      );
  return hashHex("sha256", parts.sort().join("\0"));
}

function modifiedTime(path: string): string {
  return attemptOr("", () => String(lstatSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs ?? ""));
}

const VERSION = 1;

/** The file `checks/<workspace>.json` in PicoClaw's home. */
export interface CheckMemoryDeps {
  readonly home: string;
  readonly root: string;
  /** The storage of the workspace's jobs, if it is inside the workspace. */
  readonly storage?: string;
}

export function createCheckMemory({ home, root, storage }: CheckMemoryDeps): CheckMemory {
  const folder = join(home, "checks");
  const file = join(folder, `${workspaceId(root)}.json`);
  return {
    running: new Map(),
    fingerprint: (except = []) =>
      workspaceFingerprint(root, [home, ...(storage === undefined ? [] : [storage])], except),
    recall() {
      try {
        const { version, root: of, ...record } = fromStored(readFileSync(file, "utf8"));
        return version === VERSION && of === root ? record : null;
      } catch {
        return null;
      }
    },
    keep(record) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const next = `${file}.${process.pid}`;
        writeFileSync(next, toStored({ version: VERSION, root, ...record }), { mode: 0o600 });
        renameSync(next, file);
      } catch {
        // Without a record, the next baseline is measured again.
      }
    },
    commands: {
      recall: () =>
        attemptOr(null, () => JSON.parse(readFileSync(`${file}.commands`, "utf8")) as KnownCommands),
      keep: (known) =>
        attemptOr(undefined, () => {
          mkdirSync(folder, { recursive: true, mode: 0o700 });
          writeFileSync(`${file}.${process.pid}`, JSON.stringify(known), { mode: 0o600 });
          renameSync(`${file}.${process.pid}`, `${file}.commands`);
        }),
    },
  };
}

interface Stored extends CheckRecord {
  readonly version: number;
  readonly root: string;
}

/** JSON has no maps: the tests of a result are stored as a list. */
const toStored = (record: Stored) =>
  JSON.stringify(record, (_, value) => (value instanceof Map ? [...value] : value));
const fromStored = (text: string): Stored =>
  JSON.parse(text, (key, value) => (key === "tests" ? new Map(value) : value));

export function openProjectChecks({
  settings,
  path,
  ...place
}: CheckMemoryDeps & Pick<OpenChecksDeps, "settings"> & { readonly path: string }) {
  const memory = createCheckMemory(place);
  return {
    /** A command that the user chose for this folder counts as `checks.command`, which stands above it. */
    get settings() {
      return { ...settings, command: settings.command ?? memory.commands?.recall()?.use ?? null };
    },
    memory,
    hasProgram: (name: string) => findProgram(name, path) !== null,
  };
}

/** Judges the result of a merge by the project's checks, as the workspace remembers them. */
export function createMergeJudge({
  files,
  now,
  ...place
}: Parameters<typeof openProjectChecks>[0] & Pick<OpenChecksDeps, "files" | "now">) {
  return async (draft: JudgedDraft, signal: AbortSignal): Promise<WordsByLocale> => {
    const { judgeMerge } = await import("../../application/checks/judge-merge.ts");
    return judgeMerge({ files, now, ...openProjectChecks(place) }, draft, signal);
  };
}
