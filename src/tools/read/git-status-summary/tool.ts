import { z } from "zod";
import { gitVariables } from "../../../domain/policy/git-files.ts";
import { createSecureTool } from "../../create-secure-tool.ts";
import type { RunProgram } from "../../tool-context.ts";
import { ToolError } from "../../tool-result.ts";

/** `git status --porcelain=v2 --branch -z` as plain facts. */
function parseStatus(text: string) {
  const headers = new Map<string, string>();
  const staged: string[] = [];
  const modified: string[] = [];
  const untracked: string[] = [];
  const conflicted: string[] = [];
  const records = text.split("\0");
  for (let at = 0; at < records.length; at++) {
    const record = records[at] as string;
    const kind = record.charAt(0);
    if (kind === "#") {
      const [, name = "", value = ""] = /^# branch\.(\S+) (.*)$/s.exec(record) ?? [];
      headers.set(name, value);
    } else if (kind === "?") untracked.push(record.slice(2));
    else if (kind === "u") conflicted.push(field(record, 10));
    else if (kind === "1" || kind === "2") {
      const path = field(record, kind === "1" ? 8 : 9);
      if (record.charAt(2) !== ".") staged.push(path);
      if (record.charAt(3) !== ".") modified.push(path);
      // A rename is followed by the name it had.
      if (kind === "2") at += 1;
    }
  }
  const [, ahead = "0", behind = "0"] = /^\+(\d+) -(\d+)$/.exec(headers.get("ab") ?? "") ?? [];
  const head = headers.get("head");
  const commit = headers.get("oid");
  return {
    branch: head === undefined || head === "(detached)" ? null : head,
    head: commit === undefined || commit === "(initial)" ? null : commit,
    upstream: headers.get("upstream") ?? null,
    ahead: Number(ahead),
    behind: Number(behind),
    staged,
    modified,
    untracked,
    conflicted,
    clean: staged.length + modified.length + untracked.length + conflicted.length === 0,
  };
}

/** The path is the rest of a record after so many fields. */
function field(record: string, count: number): string {
  let at = 0;
  for (let left = count; left > 0; left--) at = record.indexOf(" ", at) + 1;
  return record.slice(at);
}

const input = z.strictObject({
  max_paths: z.int().min(1).max(10_000).optional().describe("The most paths listed per kind; 200 by default"),
});

const output = z.object({
  branch: z.string().nullable().describe("Null when HEAD is detached"),
  head: z.string().nullable().describe("Null before the first commit"),
  upstream: z.string().nullable(),
  ahead: z.int(),
  behind: z.int(),
  staged: z.array(z.string()),
  modified: z.array(z.string()),
  untracked: z.array(z.string()),
  conflicted: z.array(z.string()),
  clean: z.boolean(),
  counts: z.object({ staged: z.int(), modified: z.int(), untracked: z.int(), conflicted: z.int() }),
});

const TIMEOUT_MS = 30_000;

export const gitStatusSummary = createSecureTool({
  name: "git_status_summary",
  title: "Git status",
  description:
    "Reports the branch, its upstream, and which files of the workspace are staged, modified, untracked or in conflict.",
  input,
  output,
  access: "read",
  async run({ args, context, signal }) {
    const { root } = context.workspace;
    const git = createGit(context.runProgram, root, signal);
    const filters = await git(["config", "-z", "--name-only", "--get-regexp", "^filter\\."], HARMLESS);
    const status = await git(
      [
        ...["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all"],
        ...["--no-renames", "--", "."],
      ],
      [...HARMLESS, ...withoutFilters(outputText(filters.stdout))],
    );
    if (status.exitCode !== 0) throw refusalOf(context.workspace.mask(outputText(status.stderr)), root);
    const summary = parseStatus(outputText(status.stdout));
    const most = args.max_paths ?? 200;
    const counts = {
      staged: summary.staged.length,
      modified: summary.modified.length,
      untracked: summary.untracked.length,
      conflicted: summary.conflicted.length,
    };
    const capped = (paths: readonly string[]) => paths.slice(0, most);
    return {
      data: {
        ...summary,
        staged: capped(summary.staged),
        modified: capped(summary.modified),
        untracked: capped(summary.untracked),
        conflicted: capped(summary.conflicted),
        counts,
      },
      notes:
        Math.max(...Object.values(counts)) > most ? [`lists capped at ${most} paths; raise max_paths`] : [],
    };
  },
});

type Setting = readonly [key: string, value: string];

/** Files of the workspace that look like a repository are not one: only `.git` is. */
const HARMLESS: readonly Setting[] = [
  ["core.fsmonitor", "false"],
  ["safe.bareRepository", "explicit"],
];
const MOST_FILTERS = 500;

/** Takes no lock and refreshes no index. A repository may be a stranger's: nothing that its configuration names is run. */
function createGit(runProgram: RunProgram, cwd: string, signal: AbortSignal) {
  return (args: readonly string[], settings: readonly Setting[]) =>
    runProgram({
      argv: ["git", "--no-optional-locks", ...args],
      cwd,
      env: {
        LC_ALL: "C",
        GIT_ALLOW_PROTOCOL: "none",
        ...gitVariables(settings),
      },
      timeoutMs: TIMEOUT_MS,
      signal,
    });
}

/** Every filter the configuration names, made to do nothing. */
function withoutFilters(names: string): readonly Setting[] {
  const keys = [...new Set(names.split("\0").filter((name) => name !== ""))];
  if (keys.length > MOST_FILTERS) throw new ToolError("REFUSED", "the repository names too many filters");
  return keys.map((key) => [key, key.endsWith(".required") ? "false" : ""]);
}

function refusalOf(stderr: string, root: string): ToolError {
  return /not a git repository/.test(stderr)
    ? new ToolError("NOT_A_REPOSITORY", `not in a git repository: ${root}`)
    : new ToolError("REFUSED", `git status failed: ${stderr.trim().slice(0, 1000)}`);
}

function outputText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
