import type { PatchCommand } from "../../domain/patch/command.ts";
import { failed, type Outcome } from "./file-edit.ts";
import { outcomeOf, type ProcessParts, runInView } from "./run-shell.ts";

/** Stands in where git knows nobody: a commit must not fail for want of a name. */
export const IDENTITY = ["-c", "user.name=PicoClaw", "-c", "user.email=picoclaw@localhost"] as const;
const ADD_FLAGS = new Set(["-A", "--all", "-u", "--update", "-N", "--intent-to-add", "-f", "--force"]);

/** Carries out one `git_operation` as an argument list, never through a shell. */
export async function runGit(
  parts: ProcessParts,
  command: PatchCommand,
  timeoutSeconds: number,
): Promise<Outcome> {
  const args = argumentsFor(parts, command);
  if (args === null) return failed(`unknown git_operation action: ${command.action}`);
  if (args.some((arg) => arg.includes("\0"))) return failed("git argument contains a NUL byte");
  const run = (before: readonly string[]) =>
    runInView(
      parts,
      ["git", ...before, ...args],
      parts.env,
      parts.transaction.directory as string,
      timeoutSeconds,
    );
  let result = await run([]);
  let unnamed = false;
  if (command.action === "commit" && result.exitCode === 128 && lacksIdentity(result.output)) {
    result = await run(IDENTITY);
    unnamed = result.exitCode === 0;
  }
  const outcome = outcomeOf(result, "git command failed", timeoutSeconds);
  return unnamed
    ? { ...outcome, warnings: ["git has no identity: committed as PicoClaw <picoclaw@localhost>"] }
    : outcome;
}

export function lacksIdentity(output: string): boolean {
  return /Please tell me who you are|empty ident name|unable to auto-detect email/.test(output);
}

function argumentsFor(parts: ProcessParts, { action, target, content }: PatchCommand): string[] | null {
  switch (action) {
    case "add": {
      const words = wordsOf(parts, target);
      const flags = words.filter((word) => ADD_FLAGS.has(word));
      const paths = words.filter((word) => !ADD_FLAGS.has(word) && word !== "--");
      return ["add", ...flags, "--", ...paths];
    }
    case "commit":
      return ["commit", "-m", content === "" ? "Auto-commit by Worker" : content];
    case "reset":
    case "checkout":
      return [action, ...wordsOf(parts, target)];
    default:
      return null;
  }
}

/** A target that names an existing path is one argument; otherwise its words are, with quotes respected. */
function wordsOf({ transaction }: ProcessParts, target: string): string[] {
  if (!target.startsWith("-") && /\s/.test(target) && exists(transaction, target)) return [target];
  const words: string[] = [];
  for (const match of target.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    words.push(match[1]?.replace(/\\(.)/g, "$1") ?? match[2] ?? (match[3] as string));
  }
  return words;
}

function exists({ view }: ProcessParts["transaction"], path: string): boolean {
  try {
    return view.look(path).kind !== "missing";
  } catch {
    return false;
  }
}
