import type { ProjectFiles } from "../ports/coder.ts";

const RULE_FILES = ["AGENTS.md", "CLAUDE.md"];

/** The rules of the root and of every folder on the way to a shown file, the root's first; one file a folder. */
export function readProjectRules(
  project: ProjectFiles,
  shown: readonly string[],
  limit: number,
): { readonly path: string; readonly text: string }[] {
  const found: { path: string; text: string }[] = [];
  let left = limit;
  for (const folder of foldersOf(shown)) {
    for (const name of RULE_FILES) {
      if (left < 100) return found;
      const path = `${folder}${name}`;
      const text = project.read(path, left)?.text.trim() ?? "";
      if (text === "") continue;
      found.push({ path, text });
      left -= text.length;
      break;
    }
  }
  return found;
}

/** Each ends with a slash, but the root, which is empty. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set([""]);
  for (const path of paths)
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1))
      folders.add(path.slice(0, slash + 1));
  return [...folders].sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1));
}
