import type { TestRun } from "./events.ts";

/** What a shell answers with when it has no such program. */
const NOT_FOUND = 127;

/**
 * The program that the container lacks, by the shell's own words; null when the command ran. A path is the project's
 * own, and a worker can still make it.
 */
export function missingProgram({ command, exitCode, output }: TestRun): string | null {
  if (exitCode !== NOT_FOUND) return null;
  const named = /(?:^|\n)[^\n]*?([^\s:]+): (?:command )?not found\s*(?:\n|$)/.exec(output)?.[1];
  const program = named ?? firstWord(command);
  return program.includes("/") ? null : program;
}

/** The program that a command line begins with; empty when that is no plain word. */
export function firstWord(command: string): string {
  const words = command.trim().split(/\s+/);
  const first = words.find((word) => !/^[A-Za-z_]\w*=/.test(word)) ?? "";
  return /^[\w.+-]+$/.test(first) ? first : "";
}
