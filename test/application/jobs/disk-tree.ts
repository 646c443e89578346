/** Whole trees on disk as plain values: planted before a patch, compared after it. */
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

export type Planted =
  | string
  | { readonly bytes: Uint8Array; readonly mode?: number }
  | { readonly link: string }
  | "directory/";

/** A text is a file's content; `"directory/"` is an empty folder. Parents are made. */
export function plantTree(root: string, entries: Readonly<Record<string, Planted>>): void {
  for (const [path, entry] of Object.entries(entries)) {
    const full = join(root, path);
    if (entry === "directory/") {
      mkdirSync(full, { recursive: true });
      continue;
    }
    mkdirSync(dirname(full), { recursive: true });
    if (typeof entry === "string") writeFileSync(full, entry);
    else if ("link" in entry) symlinkSync(entry.link, full);
    else {
      writeFileSync(full, entry.bytes);
      if (entry.mode !== undefined) chmodSync(full, entry.mode);
    }
  }
}

/** Copies the contents of one folder into another and makes them writable. */
export function copyTree(from: string, to: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  for (const path of readdirSync(to, { recursive: true, encoding: "utf8" })) {
    const stats = lstatSync(join(to, path));
    if (!stats.isSymbolicLink()) chmodSync(join(to, path), stats.mode | 0o600);
  }
}

/** Every entry below a folder; empty where there is none. Of the mode only what git keeps: executable or not. */
export function treeOnDisk(root: string): Record<string, string> {
  const all: Record<string, string> = {};
  const walk = (folder: string, prefix: string): void => {
    for (const name of readdirSync(folder).sort()) {
      const full = join(folder, name);
      const stats = lstatSync(full);
      if (stats.isSymbolicLink()) all[prefix + name] = `link ${readlinkSync(full)}`;
      else if (stats.isDirectory()) {
        all[prefix + name] = "directory";
        walk(full, `${prefix}${name}/`);
      } else {
        const kind = (stats.mode & 0o100) === 0 ? "file" : "program";
        all[prefix + name] = `${kind} ${JSON.stringify(readFileSync(full, "latin1"))}`;
      }
    }
  };
  if (lstatSync(root, { throwIfNoEntry: false }) !== undefined) walk(root, "");
  return all;
}
