import { posix } from "node:path";
import type { ClonePoint } from "../../application/ports/containers.ts";
import {
  type Entry,
  type View,
  ViewFault,
  type WorkspaceFiles,
} from "../../application/ports/platform-view.ts";
import {
  EMPTY_FOLDERS,
  listCommand,
  NEXT_PART,
  restoreScript,
  standingScript,
} from "../../domain/containers/clone-plan.ts";
import type { Change } from "../../domain/jobs/result.ts";
import { quoteWords } from "../../domain/platform/paths.ts";
import { hashHex } from "../platform/hash.ts";

/** The files of a clone with pending writes, which reach the clone only at `flush`. */
export interface CloneView extends View, WorkspaceFiles {}

/** The files of a clone, by git: commands change files as edits do. They are copied here at once, without running a program inside. */
export type CloneState = ReturnType<typeof createCloneState>;

interface Blob {
  readonly mode: string;
  readonly id: string;
  readonly size: number;
}

const GIT_MS = 120_000;
const LISTING_BYTES = 16 * 1024 ** 2;
/** Of all files together, and of one. A larger one is listed, and cannot be read. */
const KEPT_BYTES = 48 * 1024 ** 2;
const KEPT_FILE = 1024 ** 2;
/** Of one file that changed. */
const CHANGED_FILE = 8 * 1024 ** 2;
const LINK = "120000";
/** Folders that git ignores and that determine which programs exist. */
const PROGRAMS = "node_modules/.bin";

/** A file that is to be written; null is to be removed. */
type Pending = { readonly bytes: Uint8Array; readonly mode: number } | { readonly target: string } | null;

export function createCloneState(point: ClonePoint) {
  const { base, start, index } = point;
  const contents = new Map<string, Uint8Array>();
  const pending = new Map<string, Pending>();
  let atStart: ReadonlyMap<string, Blob> | null = null;
  let standing: ReadonlyMap<string, Blob> = new Map();
  let changed = new Map<string, Change["kind"]>();
  let folders = new Map<string, Set<string>>();
  let tree = start;
  /** Folders without a file, each with a NUL byte. */
  let empty: Uint8Array = new Uint8Array();
  let isOld = true;
  /** Undefined until the files are read for the first time, which happens before any work in the clone. */
  let programs: ClonePrograms | null | undefined;

  async function print(script: string, limitBytes: number, stdin?: string | Uint8Array): Promise<Buffer> {
    const signal = AbortSignal.timeout(GIT_MS);
    const printed = await point.print(script, { limitBytes, signal, stdin });
    if (typeof printed === "string") throw new Error(`the project's files cannot be reached: ${printed}`);
    return Buffer.from(printed);
  }

  async function readStart(): Promise<ReadonlyMap<string, Blob>> {
    const listed = (await print(listCommand(start), LISTING_BYTES)).toString("utf8");
    const found = new Map<string, Blob>();
    const wanted: string[] = [];
    let left = KEPT_BYTES;
    for (const line of listed.split("\0")) {
      const [, mode = "", id = "", bytes, path] =
        /^(\d{6}) blob ([0-9a-f]{40,64}) +(\d+)\t(.+)$/s.exec(line) ?? [];
      if (path === undefined) continue;
      const size = Number(bytes);
      found.set(path, { mode, id, size });
      if (size > KEPT_FILE || size > left) continue;
      left -= size;
      wanted.push(id);
    }
    await fetchContents(wanted, KEPT_BYTES * 2);
    return found;
  }

  async function fetchContents(ids: readonly string[], limitBytes: number): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => !contents.has(id));
    if (missing.length === 0) return;
    const printed = await print("git cat-file --batch", limitBytes, missing.map((id) => `${id}\n`).join(""));
    for (let at = 0; at < printed.length; ) {
      const end = printed.indexOf(10, at);
      const [, id, bytes] = /^([0-9a-f]{40,64}) blob (\d+)$/.exec(printed.toString("latin1", at, end)) ?? [];
      if (end === -1 || id === undefined) break;
      // The project's code can write git's objects. One whose content does not match its name is detected when the change is published.
      contents.set(id, printed.subarray(end + 1, end + 1 + Number(bytes)));
      at = end + 2 + Number(bytes);
    }
  }

  /** Writes pending files, then reads again what may have changed since. Rejects if git fails. */
  async function see(): Promise<void> {
    await flush();
    if (!isOld) return;
    atStart ??= await readStart();
    if (programs === undefined) programs = await keepPrograms(print);
    const printed = await print(
      standingScript(index, { base, start }, [
        EMPTY_FOLDERS,
        `ls -1A ${PROGRAMS} 2>/dev/null`,
        ...(programs === null ? [] : [PROGRAMS_DIGEST]),
      ]),
      LISTING_BYTES,
    );
    const [stateText = "", emptyFolders = "", listed = "", digest = ""] = printed
      .toString("utf8")
      .split(NEXT_PART);
    await programs?.see(digest);
    const { tree: now, raw } = readStanding(stateText);
    const files = new Map(atStart);
    const kinds = new Map<string, Change["kind"]>();
    for (const { path, status } of raw) {
      kinds.set(path, status === "A" ? "added" : status === "D" ? "deleted" : "modified");
      if (status === "D") files.delete(path);
    }
    const before = raw.flatMap(({ path }) => atStart?.get(path)?.id ?? []);
    const after = raw.flatMap(({ id, status }) => (status === "D" ? [] : [id]));
    await fetchContents([...before, ...after], CHANGED_FILE * 8);
    for (const { path, mode, id, status } of raw)
      if (status !== "D") files.set(path, { mode, id, size: contents.get(id)?.length ?? CHANGED_FILE });
    [tree, standing, changed] = [now, files, kinds];
    empty = Buffer.from(emptyFolders, "utf8");
    folders = foldersOf(files.keys());
    const names = listed.split("\n").filter((name) => name !== "");
    if (names.length > 0) folders.set(PROGRAMS, new Set(names));
    isOld = false;
  }

  async function flush(): Promise<void> {
    const writes = [...pending];
    pending.clear();
    if (writes.length > 0) isOld = true;
    for (const [path, wanted] of writes) {
      const name = quoteWords([path]);
      const make = `mkdir -p -- ${quoteWords([posix.dirname(path)])} && rm -rf -- ${name}`;
      if (wanted === null) await print(`rm -rf -- ${name}`, 4096);
      else if ("target" in wanted)
        await print(`${make} && ln -s -- ${quoteWords([wanted.target])} ${name}`, 4096);
      else
        await print(
          `${make} && cat > ${name} && chmod ${wanted.mode & 0o100 ? 755 : 644} ${name}`,
          4096,
          wanted.bytes,
        );
    }
  }

  const become = async (to: string, emptyFolders: Uint8Array = new Uint8Array()) => {
    const folders = emptyFolders.length > 0;
    await print(restoreScript(index, { base, tree: to, folders }), 4096, emptyFolders);
  };

  return {
    /** To be called after a command ran there: the known state may be outdated. */
    touch(): void {
      isOld = true;
    },
    see,
    flush,
    /** Everything that differs from the start, as it was seen. */
    changes: (): Change[] => [...changed].map(([path, kind]) => ({ path, kind })),
    /** The bytes that a path had at the start; null: absent, undefined: unknown. */
    original(path: string): Uint8Array | null | undefined {
      const blob = atStart?.get(path);
      return blob === undefined ? null : contents.get(blob.id);
    },
    /** The file that a path was at the start; null where there was none. */
    fileAtStart(path: string): { readonly mode: number; readonly size: number } | null {
      const blob = atStart?.get(path);
      return blob === undefined ? null : { mode: modeOf(blob.mode), size: blob.size };
    },
    /** `onChange` gets each path before it changes. */
    viewOf: (onChange?: (path: string) => void): CloneView =>
      createCloneView({
        pending,
        onChange: onChange ?? (() => {}),
        fileAt: (path) => standing.get(path),
        namesIn: (path) => folders.get(path),
        contentOf: (id) => contents.get(id),
      }),
    /** Replaces the files by those of the start, or of a tree that `hold` named. */
    become: (to: "start" | string): Promise<void> => become(to === "start" ? start : to),
    async hold(): Promise<string> {
      const printed = await print(standingScript(index, { base, start }), LISTING_BYTES);
      return readStanding(printed.toString("utf8")).tree;
    },
    /** Restores the last known state of the files, and drops pending writes. */
    async restore(): Promise<void> {
      pending.clear();
      await become(tree, empty);
      isOld = false;
    },
    /** Programs and settings beside its files; null where they are not known. */
    programs: (): ClonePrograms | null => programs ?? null,
  };
}

interface RawChange {
  readonly path: string;
  readonly mode: string;
  readonly id: string;
  readonly status: string;
}

function readStanding(printed: string): { readonly tree: string; readonly raw: readonly RawChange[] } {
  const [tree = "", ...fields] = printed.split("\0");
  const raw: RawChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = "", id = "", status = ""] =
      /^:\d+ (\d+) [0-9a-f]+ ([0-9a-f]+) (\w)/.exec(fields[at] as string) ?? [];
    raw.push({ path: fields[at + 1] as string, mode, id, status });
  }
  return { tree, raw };
}

function modeOf(mode: string): number {
  return mode === "100755" ? 0o755 : 0o644;
}

/** The names in each folder that holds one of these files. */
function foldersOf(paths: Iterable<string>): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>([["", new Set()]]);
  for (const path of paths)
    for (let below = path; below !== ""; ) {
      const cut = below.lastIndexOf("/");
      const folder = cut === -1 ? "" : below.slice(0, cut);
      const names = folders.get(folder);
      const name = below.slice(cut + 1);
      if (names !== undefined) {
        names.add(name);
        break;
      }
      folders.set(folder, new Set([name]));
      below = folder;
    }
  return folders;
}

interface SeenFiles {
  readonly pending: Map<string, Pending>;
  readonly onChange: (path: string) => void;
  readonly fileAt: (path: string) => Blob | undefined;
  readonly namesIn: (path: string) => ReadonlySet<string> | undefined;
  readonly contentOf: (id: string) => Uint8Array | undefined;
}

function createCloneView({ pending, onChange, fileAt, namesIn, contentOf }: SeenFiles): CloneView {
  const missing = (path: string) => new ViewFault("missing", path, `no such file or directory: ${path}`);
  const put = (path: string, wanted: Pending) => {
    onChange(path);
    pending.set(path, wanted);
  };
  const below = (path: string) =>
    [...pending].some(([one, wanted]) => wanted !== null && one.startsWith(`${path}/`));

  function look(path: string): Entry {
    const wanted = pending.get(path);
    if (wanted === null) return { kind: "missing" };
    if (wanted !== undefined)
      return "target" in wanted
        ? { kind: "symlink", target: wanted.target }
        : { kind: "file", mode: wanted.mode, size: wanted.bytes.length };
    const blob = fileAt(path);
    if (blob === undefined)
      return path === "" || namesIn(path) !== undefined || below(path)
        ? { kind: "directory", mode: 0o755 }
        : { kind: "missing" };
    if (blob.mode !== LINK) return { kind: "file", mode: modeOf(blob.mode), size: blob.size };
    return { kind: "symlink", target: new TextDecoder().decode(contentOf(blob.id)) };
  }

  function read(path: string): Uint8Array {
    const wanted = pending.get(path);
    if (wanted != null && "bytes" in wanted) return wanted.bytes;
    const blob = wanted === undefined ? fileAt(path) : undefined;
    if (blob === undefined) throw missing(path);
    if (blob.mode === LINK) throw new ViewFault("not-a-file", path, `not a regular file: ${path}`);
    const bytes = contentOf(blob.id);
    if (bytes === undefined) throw new ViewFault("io", path, `too large to read remotely: ${path}`);
    return bytes;
  }

  function write(path: string, bytes: Uint8Array, mode?: number): void {
    const entry = look(path);
    if (entry.kind === "directory") throw new ViewFault("is-directory", path, `is a directory: ${path}`);
    put(path, { bytes, mode: mode ?? (entry.kind === "file" ? entry.mode : 0o644) });
  }

  function list(path: string): string[] {
    const names = new Set(namesIn(path));
    for (const [one, wanted] of pending) {
      const prefix = path === "" ? "" : `${path}/`;
      if (!one.startsWith(prefix)) continue;
      const [name = ""] = one.slice(prefix.length).split("/");
      if (wanted !== null) names.add(name);
      else if (one === `${prefix}${name}`) names.delete(name);
    }
    if (names.size === 0 && look(path).kind !== "directory") throw missing(path);
    return [...names].sort();
  }

  const filesAt = (path: string): string[] => {
    const { kind } = look(path);
    if (kind === "file" || kind === "symlink") return [path];
    if (kind !== "directory") throw missing(path);
    return list(path).flatMap((name) => filesAt(path === "" ? name : `${path}/${name}`));
  };

  function copy(from: string, to: string): void {
    const entry = look(from);
    if (entry.kind === "symlink") put(to, { target: entry.target });
    else if (entry.kind === "file") put(to, { bytes: read(from), mode: entry.mode });
    else throw missing(from);
  }

  return {
    look,
    read,
    readPart: (path, offset, length) => read(path).subarray(offset, offset + length),
    write,
    makeSymlink: (path, target) => put(path, { target }),
    // Git does not store empty folders: a folder appears with its first file.
    makeDirectory: () => {},
    remove(path) {
      if (look(path).kind === "missing") throw missing(path);
      if (look(path).kind === "directory" && list(path).length > 0)
        throw new ViewFault("not-empty", path, `directory not empty: ${path}`);
      put(path, null);
    },
    rename(from, to) {
      for (const path of filesAt(from)) {
        copy(path, path === from ? to : `${to}${path.slice(from.length)}`);
        put(path, null);
      }
    },
    copy,
    list,
  };
}

type Print = (script: string, limitBytes: number, stdin?: Uint8Array) => Promise<Uint8Array>;

/**
 * Programs and settings beside the files that git knows, in packages and in the home: they decide what a check runs, and a coder's
 * commands can write them. Their state after the installation is kept on this machine.
 */
interface ClonePrograms {
  /** Reads the programs again where they differ from what `PROGRAMS_DIGEST` printed. */
  see(digest: string): Promise<void>;
  /** The changed ones, by paths for people. */
  changed(): readonly string[];
  /** Restores the first programs; the returned function puts the replaced ones back. */
  asAtStart(): Promise<() => Promise<void>>;
}

/** Folders of programs that git usually ignores. */
const FOLDERS = "node_modules/.bin */node_modules/.bin */*/node_modules/.bin .venv/bin venv/bin";
/** Downloads and packages, and the homes of worker CLIs: they start nothing by themselves. */
const LEFT_OUT = (
  ".cache .npm .pnpm-store .yarn .local/lib .local/share .local/state go/pkg .cargo/registry .cargo/git .rustup " +
  ".m2/repository .gradle .bun/install .gem .codex .claude .gemini"
).split(" ");
const PYTHON_START = "-name sitecustomize.py -o -name usercustomize.py -o -name '*.pth'";
const PROGRAM_BYTES = 64 * 1024 ** 2;
const SCRIPT_CHARS = 60_000;

/** Prints them as an archive, by their absolute paths without the first slash. */
const ARCHIVE = `{ for d in ${FOLDERS}; do [ -d "$d" ] && find "$d" \\( -type f -o -type l \\) -print; done | sed "s|^|\${PWD#/}/|"
if [ -n "$HOME" ] && [ "$HOME" != / ] && cd "$HOME" 2>/dev/null; then
find . \\( -path "./\${OLDPWD#"$HOME"/}" ${LEFT_OUT.map((path) => `-o -path ./${path}`).join(" ")} \\) -prune -o \\( -type f -o -type l \\) -print | sed "s|^\\.|\${HOME#/}|"
[ -d .local/lib ] && find .local/lib ${PYTHON_START} | sed "s|^|\${HOME#/}/|"
fi; } | tar -C / -cf - -T - 2>/dev/null`;

/** Prints a sum of them, which costs less than they do. */
const PROGRAMS_DIGEST = `(${ARCHIVE}) | sha256sum`;

interface Archived {
  /** The relevant facts of each entry, by its path. */
  readonly entries: ReadonlyMap<string, string>;
  readonly bytes: Uint8Array;
}

/** Null where they cannot be kept: an image without `tar`, or far too much of them. */
async function keepPrograms(print: Print): Promise<ClonePrograms | null> {
  const take = async (): Promise<Archived> => {
    const bytes = await print(ARCHIVE, PROGRAM_BYTES);
    return { bytes, entries: readArchive(bytes) };
  };
  const start = await take().catch(() => null);
  if (start === null) return null;
  const [home = "", project = ""] = new TextDecoder()
    .decode(await print('printf "%s\\n%s" "$HOME" "$PWD"', 8192))
    .split("\n");
  let now = start;
  let changed: readonly string[] = [];

  async function swap(from: Archived, to: Archived): Promise<void> {
    for (let rest = differing(from, to); rest.length > 0; ) {
      let count = 0;
      for (let chars = 0; count < rest.length && chars < SCRIPT_CHARS; count++)
        chars += (rest[count] as string).length + 4;
      await print(`cd / && rm -rf -- ${quoteWords(rest.slice(0, count))}`, 4096);
      rest = rest.slice(count);
    }
    await print("tar -C / -xf -", 4096, to.bytes);
  }

  return {
    async see(digest) {
      if (digest.startsWith(hashHex("sha256", now.bytes))) return;
      now = await take();
      changed = differing(start, now);
    },
    changed: () => changed.map((path) => readablePath(`/${path}`, { home, project })),
    async asAtStart() {
      const stood = now;
      if (changed.length === 0) return async () => {};
      await swap(stood, start);
      return async () => swap(await take(), stood);
    },
  };
}

function readablePath(
  path: string,
  { home, project }: { readonly home: string; readonly project: string },
): string {
  if (path.startsWith(`${project}/`)) return path.slice(project.length + 1);
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

function differing(one: Archived, other: Archived): string[] {
  const paths = new Set([...one.entries.keys(), ...other.entries.keys()]);
  return [...paths].filter((path) => one.entries.get(path) !== other.entries.get(path)).sort();
}

const BLOCK = 512;

/** The files and links of an archive, each with its kind, mode and content. */
function readArchive(bytes: Uint8Array): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  const text = (from: number, length: number) => {
    const field = bytes.subarray(from, from + length);
    const end = field.indexOf(0);
    return Buffer.from(end === -1 ? field : field.subarray(0, end)).toString("utf8");
  };
  let long: { path?: string; target?: string } = {};
  for (let at = 0; at + BLOCK <= bytes.length && bytes[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8) || 0;
    const content = bytes.subarray(at + BLOCK, at + BLOCK + size);
    const type = String.fromCharCode(bytes[at + 156] ?? 0);
    const prefix = text(at + 345, 155);
    const name = long.path ?? `${prefix === "" ? "" : `${prefix}/`}${text(at, 100)}`;
    const body = () => Buffer.from(content).toString("utf8").replace(/\0+$/, "");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (type === "L") long = { ...long, path: body() };
    else if (type === "K") long = { ...long, target: body() };
    else if (type === "x") {
      const path = /\d+ path=(.*)\n/.exec(body())?.[1];
      const target = /\d+ linkpath=(.*)\n/.exec(body())?.[1];
      long = { ...(path !== undefined && { path }), ...(target !== undefined && { target }) };
    } else {
      const header = at - BLOCK - Math.ceil(size / BLOCK) * BLOCK;
      const what =
        type === "1" || type === "2" ? (long.target ?? text(header + 157, 100)) : hashHex("sha256", content);
      entries.set(name, `${type} ${text(header + 100, 8)} ${what}`);
      long = {};
    }
  }
  return entries;
}
