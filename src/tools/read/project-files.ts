import { closeSync, constants, type Dirent, lstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import type { FoundWords, ProjectFiles, SoughtWord } from "../../application/ports/drafts.ts";
import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import type { WorkspaceFiles } from "../../application/ports/platform-view.ts";
import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { createIgnoreMatcher, type IgnoreMatcher } from "../../domain/platform/ignore-rules.ts";
import { holdsNoSources } from "../../domain/policy/protection.ts";

const LOOKED_AT = 256 * 1024;
const LONGEST_SEARCHED = 16 * 1024 ** 2;
const BINARY_LOOK = 1024;
const STEP = 16;

/** Which words occur in which files, by their bytes: fast enough to look through thousands of files for one request. */
export function findWords(
  place: string | ((path: string, most: number) => Uint8Array | null),
  paths: readonly string[],
  words: readonly SoughtWord[],
  limitMs: number,
  reach?: "whole",
): FoundWords {
  const needles = words.map((word) => needlesOf(word, reach));
  const most = reach === "whole" ? LONGEST_SEARCHED : LOOKED_AT;
  let buffer = Buffer.allocUnsafe(LOOKED_AT);
  const look = (path: string): Buffer | null => {
    let bytes =
      typeof place === "string" ? beginningOf(`${place}/${path}`, buffer) : asBuffer(place(path, most));
    if (typeof place === "string" && bytes?.length === buffer.length && buffer.length < most) {
      buffer = Buffer.allocUnsafe(most);
      bytes = beginningOf(`${place}/${path}`, buffer);
    }
    return bytes !== null && isBinary(bytes) ? bytes.subarray(0, 0) : bytes;
  };
  const folds = reach === "whole" && words.some(({ anyCase }) => anyCase);
  const hits: { path: string; terms: number[] }[] = [];
  const until = performance.now() + limitMs;
  let searched = 0;
  for (const path of paths) {
    if (searched % STEP === 0 && performance.now() > until) break;
    searched++;
    const bytes = look(path);
    if (bytes === null) continue;
    // Bytes of letters beyond ASCII are changed too, in the text as in the needle.
    const folded = folds ? bytes.toString("latin1").toLowerCase() : "";
    let terms: number[] | null = null;
    for (let at = 0; at < needles.length; at++) {
      for (const one of needles[at] as readonly (Buffer | string)[]) {
        if (typeof one === "string" ? !folded.includes(one) : !bytes.includes(one)) continue;
        if (terms === null) terms = [at];
        else terms.push(at);
        break;
      }
    }
    if (terms !== null) hits.push({ path, terms });
  }
  return { hits, searched };
}

function isBinary(bytes: Buffer): boolean {
  const zero = bytes.indexOf(0);
  return zero >= 0 && zero < BINARY_LOOK;
}

function asBuffer(bytes: Uint8Array | null): Buffer | null {
  if (bytes === null || Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** For any case: as in a name, as at its beginning, and as in a constant. */
function needlesOf({ spellings, anyCase }: SoughtWord, reach?: "whole"): (Buffer | string)[] {
  if (anyCase && reach === "whole")
    return spellings.map((one) => Buffer.from(one).toString("latin1").toLowerCase());
  const forms = spellings.flatMap((one) =>
    anyCase ? [one, `${one.charAt(0).toUpperCase()}${one.slice(1)}`, one.toUpperCase()] : [one],
  );
  return [...new Set(forms)].map((form) => Buffer.from(form));
}

/** A link is not followed; what cannot be read has no words. */
function beginningOf(path: string, buffer: Buffer): Buffer | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, 0));
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

const LONGEST_IGNORE_FILE = 1024 ** 2;

/** The paths that listings and searches of a workspace leave out. */
export function readIgnoredPaths(
  files: WorkspaceFiles,
  {
    includeIgnored,
    mayHold = () => true,
  }: {
    readonly includeIgnored: boolean;
    /** Whether a file of rules may be there, for one who has listed its folder. */
    readonly mayHold?: (path: string) => boolean;
  },
): IgnoreMatcher {
  return createIgnoreMatcher({
    includeIgnored,
    read(path) {
      try {
        if (!mayHold(path) || files.look(path).kind !== "file") return null;
        return Buffer.from(files.readPart(path, 0, LONGEST_IGNORE_FILE)).toString("utf8");
      } catch {
        return null;
      }
    },
  });
}

/** Folders entered and entries seen at most; a project that is larger is mapped in part. */
const MOST_FOLDERS = 40_000;
const MOST_ENTRIES = 400_000;

interface ProjectPlace<Entry extends { readonly name: string }> {
  /** In the order of their names. */
  readonly entriesOf: (folder: string) => readonly Entry[];
  /** Read only when the entry is reached: for a remote project it costs a call. */
  readonly kindOf: (entry: Entry, path: string) => string;
  readonly isLinked: (path: string) => boolean;
  readonly find: ProjectFiles["find"];
}

/** The workspace as coders are shown it: no link followed, nothing ignored or protected, secrets masked. */
export function createProjectFiles(
  workspace: Pick<Workspace, "root" | "files" | "protection" | "mask">,
  planOptions: PlanOptions,
): ProjectFiles {
  const { root } = workspace;
  return projectFilesAt(workspace, planOptions, {
    entriesOf: (folder) => hostEntries(join(root, folder)),
    kindOf: (entry) => (entry.isDirectory() ? "directory" : entry.isFile() ? "file" : "other"),
    isLinked: (path) => isLinked(root, path),
    find: (paths, words, limitMs, reach) => findWords(root, paths, words, limitMs, reach),
  });
}

/** The same for a project on another machine: every answer comes from its file interface. */
export function createFarProjectFiles(
  workspace: Pick<Workspace, "files" | "protection" | "mask">,
  planOptions: PlanOptions,
): ProjectFiles {
  const { files } = workspace;
  const kindOf = (path: string) => attemptOr("missing", () => files.look(path).kind);
  const beginning = (path: string, most: number) =>
    attemptOr(null, () => (files.look(path).kind === "file" ? files.readPart(path, 0, most) : null));
  return projectFilesAt(workspace, planOptions, {
    entriesOf: (folder) => [...files.list(folder)].sort().map((name) => ({ name })),
    kindOf: (_, path) => kindOf(path),
    isLinked: (path) => kindOf(path) === "symlink",
    find: (paths, words, limitMs, reach) => findWords(beginning, paths, words, limitMs, reach),
  });
}

function projectFilesAt<Entry extends { readonly name: string }>(
  { files, protection, mask }: Pick<Workspace, "files" | "protection" | "mask">,
  planOptions: PlanOptions,
  place: ProjectPlace<Entry>,
): ProjectFiles {
  const hidden = (path: string) => protection.protects(path) !== null || protection.forbids(path) !== null;
  const isInside = (path: string) =>
    path !== "" && !path.startsWith("/") && path.split("/").every((part) => part !== "" && part !== "..");
  return {
    planOptions,
    list: (limit) => listSources(files, limit, hidden, place),
    read(path, limitChars) {
      if (!isInside(path) || hidden(path)) return null;
      return attemptOr(null, () => {
        const found = files.look(path);
        if (found.kind !== "file") return null;
        const bytes = files.readPart(path, 0, limitChars * 4);
        if (bytes.subarray(0, 8_000).includes(0)) return null;
        const text = new TextDecoder().decode(bytes);
        const cut = text.length > limitChars || found.size > bytes.length;
        return { text: mask(text.slice(0, limitChars)), cut };
      });
    },
    sizeOf(path) {
      const found = attemptOr(null, () => files.look(path));
      return found?.kind === "file" ? found.size : 0;
    },
    find: place.find,
    source: {
      judges: (path) => isInside(path) && !hidden(path) && !place.isLinked(path),
      look: (path) =>
        attemptOr({ kind: "missing" } as const, () => {
          const found = files.look(path);
          return found.kind === "file" ? { ...found, bytes: files.read(path) } : found;
        }),
    },
  };
}

const IGNORE_FILE = ".gitignore";

/** The files that hold sources, folder by folder: nothing ignored, nothing hidden. */
function listSources<Entry extends { readonly name: string }>(
  files: WorkspaceFiles,
  limit: number,
  hidden: (path: string) => boolean,
  { entriesOf, kindOf }: ProjectPlace<Entry>,
): string[] {
  const ruling = new Set<string>();
  const ignored = readIgnoredPaths(files, {
    includeIgnored: false,
    mayHold: (path) => !path.endsWith(IGNORE_FILE) || ruling.has(path),
  });
  const paths: string[] = [];
  const folders = [""];
  let seen = 0;
  for (let at = 0; at < folders.length && at < MOST_FOLDERS; at++) {
    const prefix = folders[at] === "" ? "" : `${folders[at]}/`;
    const entries = entriesOf(folders[at] as string);
    if (entries.some(({ name }) => name === IGNORE_FILE)) ruling.add(`${prefix}${IGNORE_FILE}`);
    for (const entry of entries) {
      if (++seen > MOST_ENTRIES || paths.length >= limit) return paths;
      const { name } = entry;
      const path = `${prefix}${name}`;
      const is = kindOf(entry, path);
      if (is === "directory") {
        if (name !== ".git" && !holdsNoSources(name) && !ignored.has(path, true)) folders.push(path);
      } else if (is === "file" && !hidden(path) && !ignored.has(path, false)) paths.push(path);
    }
  }
  return paths;
}

function hostEntries(folder: string): Dirent[] {
  return attemptOr([], () =>
    readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
}

/** Whether any part of the way is a symbolic link or cannot be looked at; only the executor resolves those. */
function isLinked(workspace: string, path: string): boolean {
  let at = workspace;
  return attemptOr(true, () => {
    for (const part of path.split("/")) {
      at = join(at, part);
      const stats = lstatSync(at, { throwIfNoEntry: false });
      if (stats?.isDirectory() !== true) return stats?.isSymbolicLink() === true;
    }
    return false;
  });
}
