import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A command or a skill that a workspace brings along. */
export interface WorkspaceCommandFile {
  /** In the workspace. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** What is larger is never read as a command. */
const MOST_BYTES = 64 * 1024;

/** `.picoclaw/commands/*.md` and `.picoclaw/skills/*`'s `SKILL.md`, by path: plain files in plain folders, no links. */
export function ownFiles(workspace: string): WorkspaceCommandFile[] {
  const commands = namesIn(workspace, ".picoclaw/commands").filter((name) => name.endsWith(".md"));
  const skills = namesIn(workspace, ".picoclaw/skills");
  return [
    ...commands.map((name) => `.picoclaw/commands/${name}`),
    ...skills
      .filter((name) => isFolder(join(workspace, ".picoclaw/skills", name)))
      .map((name) => `.picoclaw/skills/${name}/SKILL.md`),
  ].flatMap((path) => {
    const bytes = readPlain(join(workspace, path));
    return bytes === null ? [] : [{ path, bytes }];
  });
}

function namesIn(workspace: string, folder: string): string[] {
  const all = [join(workspace, ".picoclaw"), join(workspace, folder)];
  try {
    return all.every(isFolder) ? readdirSync(join(workspace, folder)).sort() : [];
  } catch {
    return [];
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function readPlain(path: string): Uint8Array | null {
  try {
    const { size, isFile } = { size: lstatSync(path).size, isFile: lstatSync(path).isFile() };
    return isFile && size <= MOST_BYTES ? readFileSync(path) : null;
  } catch {
    return null;
  }
}
