import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { ProjectFiles } from "../../application/ports/coder.ts";
import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import type { PlanOptions } from "../../domain/patch/plan-edit.ts";
import { findWords } from "./find-words.ts";
import { readIgnoredPaths } from "./ignored.ts";

/** Folders entered and entries seen at most; a project that is larger is mapped in part. */
const MOST_FOLDERS = 2_000;
const MOST_ENTRIES = 40_000;
/** Places where a coder finds nothing of the project's own, whether git ignores them or not. */
const SKIPPED = new Set([
  "node_modules",
  ".venv",
  "venv",
  "__pycache__",
  ".tox",
  ".gradle",
  "target",
  "dist",
]);

/** The workspace as coders are shown it: no link followed, nothing ignored or protected, secrets masked. */
export function createProjectFiles(
  { root, files, protection, mask }: Pick<Workspace, "root" | "files" | "protection" | "mask">,
  planOptions: PlanOptions,
): ProjectFiles {
  const hidden = (path: string) => protection.protects(path) !== null || protection.forbids(path) !== null;
  const isInside = (path: string) =>
    path !== "" && !path.startsWith("/") && path.split("/").every((part) => part !== "" && part !== "..");

  return {
    planOptions,
    list(limit) {
      const ignored = readIgnoredPaths(files, { includeIgnored: false });
      const paths: string[] = [];
      const folders = [""];
      let seen = 0;
      for (let at = 0; at < folders.length && at < MOST_FOLDERS; at++) {
        const folder = folders[at] as string;
        for (const entry of entriesOf(join(root, folder))) {
          if (++seen > MOST_ENTRIES || paths.length >= limit) return paths;
          const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
          if (entry.isDirectory()) {
            if (!SKIPPED.has(entry.name) && !ignored.has(path, true)) folders.push(path);
          } else if (entry.isFile() && !hidden(path) && !ignored.has(path, false)) paths.push(path);
        }
      }
      return paths;
    },
    read(path, limitChars) {
      if (!isInside(path) || hidden(path)) return null;
      try {
        const found = files.look(path);
        if (found.kind !== "file") return null;
        const bytes = files.readPart(path, 0, limitChars * 4);
        if (bytes.subarray(0, 8_000).includes(0)) return null;
        const text = new TextDecoder().decode(bytes);
        const cut = text.length > limitChars || found.size > bytes.length;
        return { text: mask(text.slice(0, limitChars)), cut };
      } catch {
        return null;
      }
    },
    has: (path) => isInside(path) && existsSync(join(root, path)),
    find: (paths, words, limitMs) => findWords(root, paths, words, limitMs),
    source: {
      judges: (path) => isInside(path) && !hidden(path) && !isLinked(root, path),
      look(path) {
        try {
          const found = files.look(path);
          return found.kind === "file" ? { kind: "file", bytes: files.read(path), mode: found.mode } : found;
        } catch {
          return { kind: "missing" };
        }
      },
    },
  };
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** Whether any part of the way there is a symbolic link; the executor resolves those, nobody guesses here. */
function isLinked(workspace: string, path: string): boolean {
  const parts = path.split("/");
  return parts.some((_, at) => {
    const stats = lstatSync(join(workspace, ...parts.slice(0, at + 1)), { throwIfNoEntry: false });
    return stats?.isSymbolicLink() === true;
  });
}
