import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { OwnCommand, OwnCommands } from "../../application/ports/chat.ts";
import { readOwnCommand } from "../../domain/chat/message-commands.ts";
import { COMMAND_FOLDERS, MCP_FILE } from "../../domain/config/configured-kinds.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readPlain } from "../platform/read-file.ts";
import { isFolder, readYaml } from "../platform/text-files.ts";
import type { McpFile } from "./toolbox.ts";

export interface OwnCommandDeps {
  readonly home: string;
  readonly workspace: string;
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
  const found = (from: OwnCommand["from"], name: string): FoundCommand | null => {
    for (const root of rootsOf(from))
      for (const kind of ["command", "skill"] as const) {
        const text = readIn(
          root,
          kind === "command" ? ["commands", `${name}.md`] : ["skills", name, "SKILL.md"],
        );
        if (text === null) continue;
        const read = readOwnCommand(mask(text), readYaml);
        if (kind === "command") return { root, command: { name, kind, from, ...read } };
        const where = from === "home" ? null : relative(workspace, join(root, "skills", name));
        const body = `${read.body}${wordFilesBeside(name, where, filesBelow(join(root, "skills", name)))}`;
        return { root, command: { name, kind, from, ...read, body } };
      }
    return null;
  };
  const chosen = (name: string): FoundCommand | "untrusted" | null => {
    if (!NAME.test(name)) return null;
    const theirs = found("workspace", name);
    if (theirs !== null && isTrusted()) return theirs;
    return found("home", name) ?? (theirs === null ? null : "untrusted");
  };
  return {
    list() {
      const places = ["home" as const, ...(isTrusted() ? ["workspace" as const] : [])];
      const all = new Map<string, OwnCommand>();
      for (const from of places)
        for (const name of rootsOf(from).flatMap(namesIn)) {
          const one = found(from, name);
          if (one !== null) all.set(name, one.command);
        }
      return [...all.values()].sort((x, y) => (x.name < y.name ? -1 : 1));
    },
    find(name) {
      const one = chosen(name);
      return one === null || one === "untrusted" ? one : one.command;
    },
    readBeside(skill, path) {
      const one = chosen(skill);
      if (one === null || one === "untrusted" || one.command.kind !== "skill") return null;
      const steps = path.split("/");
      if (steps.some((step) => step === "" || step === "." || step === "..")) return null;
      const text = readIn(one.root, ["skills", skill, ...steps]);
      return text === null || text.includes("\0") ? null : mask(text);
    },
  };
}

interface FoundCommand {
  /** The folder that holds `commands` and `skills`. */
  readonly root: string;
  readonly command: OwnCommand;
}

const MOST_BESIDE = 50;
const DEEPEST_BESIDE = 4;

/** The agent that follows a skill finds the files that the skill names. `where`: its folder in the workspace, if it has one. */
function wordFilesBeside(name: string, where: string | null, files: readonly string[]): string {
  if (files.length === 0) return "";
  const left = files.length > MOST_BESIDE ? ` … and ${files.length - MOST_BESIDE} more` : "";
  const place = where === null ? "" : `in ${where}/, `;
  return `\n\nFiles of this skill, ${place}readable as skill:${name}/PATH: ${files.slice(0, MOST_BESIDE).join(", ")}${left}`;
}

/** Plain files below the folder of a skill, by their paths there. */
function filesBelow(folder: string, at = "", depth = 0): string[] {
  if (depth > DEEPEST_BESIDE) return [];
  const files: string[] = [];
  for (const name of entries(folder, at)) {
    const path = at === "" ? name : `${at}/${name}`;
    if (files.length > MOST_FILES) break;
    const found = lstatSync(join(folder, path), { throwIfNoEntry: false });
    if (found?.isDirectory()) files.push(...filesBelow(folder, path, depth + 1));
    else if (found?.isFile() && path !== "SKILL.md") files.push(path);
  }
  return files;
}

function namesIn(root: string): string[] {
  const commands = entries(root, "commands").flatMap((entry) =>
    entry.endsWith(".md") ? [entry.slice(0, -3)] : [],
  );
  return [...commands, ...entries(root, "skills")].filter((name) => NAME.test(name)).slice(0, MOST_FILES);
}

function entries(root: string, folder: string): string[] {
  return attemptOr([], () =>
    isFolder(root) && isFolder(join(root, folder)) ? readdirSync(join(root, folder)).sort() : [],
  );
}

/** Every folder on the way is one, not a link to one. */
function readIn(root: string, path: readonly string[]): string | null {
  const folders = path.slice(0, -1).map((_, n) => join(root, ...path.slice(0, n + 1)));
  return folders.every(isFolder) ? readText(join(root, ...path)) : null;
}

function readText(path: string): string | null {
  const bytes = attemptOr(null, () => readPlain(path, MOST_BYTES));
  return bytes && new TextDecoder().decode(bytes);
}

/** Whether the workspace has a file of MCP servers, trusted or not. */
export function hasMcpFile(workspace: string): boolean {
  return existsSync(join(workspace, MCP_FILE));
}

/** The workspace's file of MCP servers, which is read once the folder is trusted. */
export function readMcpFileOf(workspace: string, isTrusted: () => boolean): McpFile {
  const text = readText(join(workspace, MCP_FILE));
  if (text === null) return { kind: "none" };
  return isTrusted() ? { kind: "read", text } : { kind: "untrusted" };
}
