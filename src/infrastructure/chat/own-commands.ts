import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { OwnCommand, OwnCommands } from "../../application/ports/chat.ts";
import { readOwnCommand } from "../../domain/chat/message-commands.ts";
import { COMMAND_FOLDERS } from "../../domain/config/command-folders.ts";
import { readYaml } from "../platform/text-files.ts";

export interface OwnCommandDeps {
  /** PicoClaw's home. */
  readonly home: string;
  readonly workspace: string;
  /** Whether the user trusts the workspace. */
  readonly isTrusted: () => boolean;
  readonly mask: (text: string) => string;
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,40}$/;
const MOST_BYTES = 64 * 1024;
const MOST_FILES = 200;

export function createOwnCommands({ home, workspace, isTrusted, mask }: OwnCommandDeps): OwnCommands {
  const rootsOf = (from: OwnCommand["from"]): readonly string[] =>
    from === "home"
      ? [home]
      : COMMAND_FOLDERS.map((folder) => join(workspace, folder)).filter((root) => isFolder(root));
  const found = (from: OwnCommand["from"], name: string): OwnCommand | null => {
    for (const root of rootsOf(from))
      for (const kind of ["command", "skill"] as const) {
        const text = readIn(
          root,
          kind === "command" ? ["commands", `${name}.md`] : ["skills", name, "SKILL.md"],
        );
        if (text === null) continue;
        const read = readOwnCommand(mask(text), readYaml);
        if (kind === "command" || from === "home") return { name, kind, from, ...read };
        return { name, kind, from, ...read, body: `${read.body}${filesBeside(workspace, root, name)}` };
      }
    return null;
  };
  return {
    list() {
      const places = ["home" as const, ...(isTrusted() ? ["workspace" as const] : [])];
      const all = new Map<string, OwnCommand>();
      for (const from of places)
        for (const name of rootsOf(from).flatMap(namesIn)) {
          const command = found(from, name);
          if (command !== null) all.set(name, command);
        }
      return [...all.values()].sort((x, y) => (x.name < y.name ? -1 : 1));
    },
    find(name) {
      if (!NAME.test(name)) return null;
      const theirs = found("workspace", name);
      if (theirs !== null && isTrusted()) return theirs;
      return found("home", name) ?? (theirs === null ? null : "untrusted");
    },
  };
}

const MOST_BESIDE = 50;

/** The agent that follows a skill finds the files that the skill names. */
function filesBeside(workspace: string, root: string, name: string): string {
  const folder = join(root, "skills", name);
  const files = entries(join(root, "skills"), name).filter((file) => file !== "SKILL.md");
  if (files.length === 0) return "";
  const where = relative(workspace, folder);
  const left = files.length > MOST_BESIDE ? ` … and ${files.length - MOST_BESIDE} more` : "";
  return `\n\nFiles of this skill, in ${where}/: ${files.slice(0, MOST_BESIDE).join(", ")}${left}`;
}

function namesIn(root: string): string[] {
  const commands = entries(root, "commands").flatMap((entry) =>
    entry.endsWith(".md") ? [entry.slice(0, -3)] : [],
  );
  return [...commands, ...entries(root, "skills")].filter((name) => NAME.test(name)).slice(0, MOST_FILES);
}

function entries(root: string, folder: string): string[] {
  try {
    return isFolder(root) && isFolder(join(root, folder)) ? readdirSync(join(root, folder)) : [];
  } catch {
    return [];
  }
}

/** Every folder on the way is one, not a link to one. */
function readIn(root: string, path: readonly string[]): string | null {
  const folders = path.slice(0, -1).map((_, n) => join(root, ...path.slice(0, n + 1)));
  return folders.every(isFolder) ? readPlain(join(root, ...path)) : null;
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function readPlain(path: string): string | null {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size, isFile } = { size: fstatSync(file).size, isFile: fstatSync(file).isFile() };
      return isFile && size <= MOST_BYTES ? readFileSync(file, "utf8") : null;
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}
