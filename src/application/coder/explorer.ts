import { readAskedFile } from "../../domain/coder/asked-file.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { ToolResult } from "../models/tool-loop.ts";
import type { ModelTool, ToolCall } from "../ports/models.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import { folderTree } from "./folder-tree.ts";
import { searchProject } from "./search-project.ts";
import { showAsked } from "./show-asked.ts";

/** How a coder looks around before it writes: nothing that it calls changes the workspace. */
export interface Explorer {
  readonly tools: readonly ModelTool[];
  /** Never rejects. */
  call(call: ToolCall): Promise<ToolResult>;
}

export interface ExplorerDeps {
  /** The files as they are now: with a draft, the draft's. */
  readonly project: () => Pick<ProjectFiles, "list" | "read" | "find">;
  readonly request: string;
  /** Characters of one result. */
  readonly limit: number;
  /** Runs a command in a view that is thrown away; absent where there is none. Null: not possible after all. */
  readonly run?: (command: string) => Promise<ThrownAwayRun | null>;
  readonly mask: (text: string) => string;
}

export interface ThrownAwayRun {
  /** Null when it did not end by itself. */
  readonly exitCode: number | null;
  readonly output: string;
}

const object = (properties: Readonly<Record<string, unknown>>, ...required: string[]) => ({
  type: "object",
  properties,
  required,
});
const text = (description: string) => ({ type: "string", description });
const line = (description: string) => ({ type: "integer", description });

const READ: ModelTool = {
  name: "read_file",
  description: "Shows a file, or lines of it.",
  parameters: object({ path: text("path"), from: line("first line"), to: line("last line") }, "path"),
};
const SEARCH: ModelTool = {
  name: "search",
  description: "Finds lines by a text or regular expression; definitions first.",
  parameters: object({ pattern: text("what to look for"), path: text("only below this folder") }, "pattern"),
};
const TREE: ModelTool = {
  name: "tree",
  description: "Lists the files below a folder.",
  parameters: object({ path: text("folder; the workspace when absent") }),
};
const RUN: ModelTool = {
  name: "run",
  description:
    "Runs a shell command in a throw-away view of the workspace, without network: to reproduce a bug or try something. What it writes is gone afterwards.",
  parameters: object({ command: text("the command") }, "command"),
};

export function createExplorer(parts: ExplorerDeps): Explorer {
  return {
    tools: [READ, SEARCH, TREE, ...(parts.run === undefined ? [] : [RUN])],
    async call({ name, arguments: given }) {
      const { ok, text: told } = await answer(parts, name, argumentsOf(given));
      return { ok, text: parts.mask(told) };
    },
  };
}

async function answer(
  { project, request, limit, run }: ExplorerDeps,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolResult> {
  switch (name) {
    case "read_file": {
      const asked = wishOf(args);
      if (asked === "") return wrong("read_file needs a path");
      const shown = showAsked(project(), { files: [asked], searches: [] }, { request, limit });
      return { ok: !shown.includes(">not there, or not to be shown"), text: shown };
    }
    case "search": {
      const pattern = stringOf(args.pattern);
      if (pattern === "") return wrong("search needs a pattern");
      const under = stringOf(args.path);
      return { ok: true, text: searchProject(project(), { pattern, under }, Math.min(limit, 8_000)) };
    }
    case "tree":
      return {
        ok: true,
        text: folderTree(project().list(20_000), stringOf(args.path), Math.min(limit, 6_000)),
      };
    case "run": {
      const command = stringOf(args.command);
      if (run === undefined) return wrong("nothing can be run here");
      if (command === "") return wrong("run needs a command");
      const ran = await run(command);
      if (ran === null) return wrong("nothing can be run here");
      const { exitCode, output } = ran;
      const ended = exitCode === null ? "It did not end by itself." : `Exit code ${exitCode}.`;
      return { ok: exitCode === 0, text: `${ended}\n${cutMiddle(output, Math.min(limit, 8_000))}` };
    }
    default:
      return wrong(`there is no tool ${name}; there are read_file, search, tree`);
  }
}

function wrong(told: string): ToolResult {
  return { ok: false, text: told };
}

/** Models write numbers as text, and ranges into the path. */
function wishOf(args: Readonly<Record<string, unknown>>): string {
  const path = stringOf(args.path) || stringOf(args.file_path) || stringOf(args.file);
  const from = Number(args.from ?? args.offset ?? args.start_line ?? Number.NaN);
  const to = Number(args.to ?? args.end_line ?? Number.NaN);
  if (path === "" || readAskedFile(path).lines !== undefined) return path;
  if (Number.isInteger(from) && from > 0) return `${path}:${from}-${Number.isInteger(to) ? to : ""}`;
  return Number.isInteger(to) && to > 0 ? `${path}:1-${to}` : path;
}

function argumentsOf(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === "object" && given !== null ? (given as Readonly<Record<string, unknown>>) : {};
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}
