import { accessSync, constants, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { getXattr, listXattrs } from "../../src/infrastructure/platform/xattr.ts";

/** One entry as a person could tell it from another: everything but times of folders and inode numbers. */
interface TreeEntry {
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly mode: number;
  readonly owner: string;
  readonly bytes?: string;
  readonly target?: string;
  readonly modified?: string;
  readonly links?: number;
  readonly attributes?: Readonly<Record<string, string>>;
}

export type Tree = Readonly<Record<string, TreeEntry>>;

export interface TreeOptions {
  /** Paths to leave out, with everything below them. */
  readonly without?: (path: string) => boolean;
  /** Times of change of files; on unless two separately made trees are compared. */
  readonly times?: boolean;
}

/** The whole tree below a folder, no symlink followed. Names that are not UTF-8 are shown as latin1. */
export function treeOf(folder: string, options: TreeOptions = {}): Tree {
  const tree: Record<string, TreeEntry> = {};
  const visit = (at: Buffer, path: string) => {
    for (const name of namesIn(at)) {
      const shown = path === "" ? nameOf(name) : `${path}/${nameOf(name)}`;
      if (options.without?.(shown)) continue;
      const absolute = Buffer.concat([at, Buffer.from("/"), name]);
      tree[shown] = entryAt(absolute, options.times !== false);
      if (tree[shown].kind === "directory") visit(absolute, shown);
    }
  };
  visit(Buffer.from(folder), "");
  return Object.fromEntries(Object.entries(tree).sort(([x], [y]) => (x < y ? -1 : 1)));
}

/** None for a folder that this user cannot look into. */
function namesIn(folder: Buffer): Buffer[] {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return readdirSync(folder, { encoding: "buffer" });
  } catch {
    return [];
  }
}

function nameOf(name: Buffer): string {
  const text = name.toString("utf8");
  return Buffer.from(text).equals(name) ? text : `latin1:${name.toString("latin1")}`;
}

function entryAt(absolute: Buffer, times: boolean): TreeEntry {
  const stats = lstatSync(absolute, { bigint: true });
  const base = { mode: Number(stats.mode & 0o7777n), owner: `${stats.uid}:${stats.gid}` };
  if (stats.isSymbolicLink()) return { kind: "symlink", ...base, target: readlinkSync(absolute) };
  if (stats.isDirectory()) return { kind: "directory", ...base, attributes: attributesOf(absolute) };
  if (!stats.isFile()) return { kind: "other", ...base };
  return {
    kind: "file",
    ...base,
    bytes: contentOf(absolute, stats.size),
    ...(times && { modified: String(stats.mtimeNs) }),
    links: Number(stats.nlink),
    attributes: attributesOf(absolute),
  };
}

const SHOWN_WHOLE = 200n;

function contentOf(absolute: Buffer, size: bigint): string {
  try {
    const bytes = readFileSync(absolute);
    return size <= SHOWN_WHOLE
      ? bytes.toString("latin1")
      : `${size} bytes, ${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}`;
  } catch {
    return "unreadable";
  }
}

function attributesOf(absolute: Buffer): Record<string, string> {
  const names = listXattrs(absolute);
  const attributes: Record<string, string> = {};
  for (const name of names.ok ? [...names.value].sort() : []) {
    const value = getXattr(absolute, name);
    attributes[name] = value.ok ? Buffer.from(value.value).toString("latin1") : "?";
  }
  return attributes;
}

/** For comparing trees that were made apart. */
export function withoutTimes(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).map(([path, { modified: _, ...entry }]) => [path, entry]));
}
