/**
 * What the project's own checks say of a change. `red`: one fails. `not-run`: one could not be run where the change was made.
 * `unchecked`: the project has none. Only `green` has earned the words that close an issue.
 */
export type TaskVerdict = "green" | "red" | "not-run" | "unchecked";

/** `absent`: it said by its words, not by its exit code, that something it needs is not there. */
interface CheckExit {
  readonly exitCode: number;
  readonly absent?: boolean;
}

export function taskVerdict(checks: readonly CheckExit[]): TaskVerdict {
  if (checks.length === 0) return "unchecked";
  const red = checks.filter(({ exitCode }) => exitCode !== 0);
  if (red.some(({ exitCode, absent = isAbsent(exitCode) }) => !absent)) return "red";
  return red.length > 0 ? "not-run" : "green";
}

/** As a shell says that a program is not there, or cannot be run. */
function isAbsent(exitCode: number): boolean {
  return exitCode === 127 || exitCode === 126;
}
