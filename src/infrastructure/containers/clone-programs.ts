import { quoteWords } from "../../domain/platform/paths.ts";
import { hashHex } from "../platform/hash.ts";

type Print = (script: string, limitBytes: number, stdin?: Uint8Array) => Promise<Uint8Array>;

/**
 * Programs and settings beside the files that git knows: those that packages of the project brought, and those in the home. They
 * decide which program a check runs, and a coder's commands can write them. What they were right after the installation is kept
 * on this machine.
 */
export interface ClonePrograms {
  /** Reads the programs again where they differ from what `PROGRAMS_DIGEST` printed. */
  see(digest: string): Promise<void>;
  /** Those that are not what they were, as people read their paths. */
  changed(): readonly string[];
  /** Restores the first programs; the returned function puts the replaced ones back. */
  asAtStart(): Promise<() => Promise<void>>;
}

/** Folders of programs that git usually ignores. */
const FOLDERS = "node_modules/.bin */node_modules/.bin */*/node_modules/.bin .venv/bin venv/bin";
/** Downloads and packages, and the homes of worker CLIs: they start nothing by themselves. */
const LEFT_OUT = [
  ".cache",
  ".npm",
  ".pnpm-store",
  ".yarn",
  ".local/lib",
  ".local/share",
  ".local/state",
  "go/pkg",
  ".cargo/registry",
  ".cargo/git",
  ".rustup",
  ".m2/repository",
  ".gradle",
  ".bun/install",
  ".gem",
  ".codex",
  ".claude",
  ".gemini",
];
const PYTHON_START = "-name sitecustomize.py -o -name usercustomize.py -o -name '*.pth'";
const KEPT_BYTES = 64 * 1024 ** 2;
const SCRIPT_CHARS = 60_000;

/** Prints them as an archive, by their absolute paths without the first slash. */
const ARCHIVE = `{ for d in ${FOLDERS}; do [ -d "$d" ] && find "$d" \\( -type f -o -type l \\) -print; done | sed "s|^|\${PWD#/}/|"
if [ -n "$HOME" ] && [ "$HOME" != / ] && cd "$HOME" 2>/dev/null; then
find . \\( -path "./\${OLDPWD#"$HOME"/}" ${LEFT_OUT.map((path) => `-o -path ./${path}`).join(" ")} \\) -prune -o \\( -type f -o -type l \\) -print | sed "s|^\\.|\${HOME#/}|"
[ -d .local/lib ] && find .local/lib ${PYTHON_START} | sed "s|^|\${HOME#/}/|"
fi; } | tar -C / -cf - -T - 2>/dev/null`;

/** Prints a sum of them, which costs less than they do. */
export const PROGRAMS_DIGEST = `(${ARCHIVE}) | sha256sum`;

interface Archived {
  /** Everything that counts of an entry, by its path. */
  readonly entries: ReadonlyMap<string, string>;
  readonly bytes: Uint8Array;
}

/** Null where they cannot be kept: an image without `tar`, or far too much of them. */
export async function keepPrograms(print: Print): Promise<ClonePrograms | null> {
  const take = async (): Promise<Archived> => {
    const bytes = await print(ARCHIVE, KEPT_BYTES);
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

/** The paths at which two archives have something else. */
function differing(one: Archived, other: Archived): string[] {
  const paths = new Set([...one.entries.keys(), ...other.entries.keys()]);
  return [...paths].filter((path) => one.entries.get(path) !== other.entries.get(path)).sort();
}

const BLOCK = 512;

/** The files and links of an archive, each with what makes it what it is: kind, mode and content. */
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
