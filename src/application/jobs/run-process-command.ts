import type { PatchCommand } from "../../domain/patch/command.ts";
import type { FailureReason } from "../../domain/jobs/result.ts";
import type { ProcessResult } from "../ports/process.ts";
import { commitAnyway, type RunGit } from "./commit-anyway.ts";
import { type CommandOutcome, failedOutcome } from "./outcome.ts";
import { type RunProcessDeps, runInView, toCommandOutcome } from "./run-shell.ts";

const ADD_FLAGS = new Set(["-A", "--all", "-u", "--update", "-N", "--intent-to-add", "-f", "--force"]);

/** Carries out one `git_operation` as an argument list, never through a shell. */
export async function runGit(
  parts: RunProcessDeps,
  command: PatchCommand,
  timeoutSeconds: number,
): Promise<CommandOutcome> {
  const args = argumentsFor(parts, command);
  if (args === null) return failedOutcome(`unknown git_operation action: ${command.action}`);
  if (args.some((arg) => arg.includes("\0"))) return failedOutcome("git argument contains a NUL byte");
  const git = gitIn(parts, timeoutSeconds);
  if (command.action === "commit") {
    const { result, notes } = await commitAnyway(git, [], args);
    const outcome = toCommandOutcome(result, "git command failed", timeoutSeconds);
    if (outcome.ok) return { ...outcome, warnings: notes.map((code) => ({ code })) };
    return explained(git, result, outcome);
  }
  const result = await git(...args);
  return explained(git, result, toCommandOutcome(result, "git command failed", timeoutSeconds));
}

/** Files of the workspace that look like a repository, with settings that name programs, are none: only `.git` is. */
function gitIn(parts: RunProcessDeps, timeoutSeconds: number): RunGit {
  const folder = parts.transaction.directory as string;
  const git = ["git", "-c", "safe.bareRepository=explicit"] as const;
  return (...args) => runInView(parts, [...git, ...args], parts.env, folder, timeoutSeconds);
}

/** Says why git could do nothing at all, where that is the reason. */
async function explained(
  git: RunGit,
  result: ProcessResult,
  outcome: CommandOutcome,
): Promise<CommandOutcome> {
  const reason = await gitFailureReason(git, result);
  return reason === null ? outcome : { ...outcome, reason };
}

async function gitFailureReason(git: RunGit, result: ProcessResult): Promise<FailureReason | null> {
  if (result.outcome === "not-started")
    return result.error?.reason === "program-missing" ? { code: "git-missing" } : null;
  if (result.exitCode !== 128) return null;
  return (await git("rev-parse", "--git-dir")).exitCode === 0 ? null : { code: "not-a-repository" };
}

function argumentsFor(parts: RunProcessDeps, { action, target, content }: PatchCommand): string[] | null {
  switch (action) {
    case "add": {
      const words = splitTargetWords(parts, target);
      const flags = words.filter((word) => ADD_FLAGS.has(word));
      const paths = words.filter((word) => !ADD_FLAGS.has(word) && word !== "--");
      return ["add", ...flags, "--", ...paths];
    }
    case "commit":
      return ["commit", "-m", content === "" ? "Auto-commit by Worker" : content];
    case "reset":
    case "checkout":
      return [action, ...splitTargetWords(parts, target)];
    default:
      return null;
  }
}

/** A target that names an existing path is one argument; otherwise its words are, with quotes respected. */
function splitTargetWords({ transaction }: RunProcessDeps, target: string): string[] {
  if (!target.startsWith("-") && /\s/.test(target) && exists(transaction, target)) return [target];
  const words: string[] = [];
  for (const match of target.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    words.push(match[1]?.replace(/\\(.)/g, "$1") ?? match[2] ?? (match[3] as string));
  }
  return words;
}

function exists({ view }: RunProcessDeps["transaction"], path: string): boolean {
  try {
    return view.look(path).kind !== "missing";
  } catch {
    return false;
  }
}
