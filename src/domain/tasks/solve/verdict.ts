/**
 * What the project's own checks say of a change. `red`: one fails. `not-run`: one could not be run where the change was made.
 * `unchecked`: the project has none. Only `green` has earned the words that close an issue.
 */
export type TaskVerdict = "green" | "red" | "not-run" | "unchecked";

export function verdictOf(checks: readonly { readonly exitCode: number }[]): TaskVerdict {
  if (checks.length === 0) return "unchecked";
  const red = checks.filter(({ exitCode }) => exitCode !== 0);
  if (red.some(({ exitCode }) => !isAbsent(exitCode))) return "red";
  return red.length > 0 ? "not-run" : "green";
}

/** As a shell says that a program is not there, or cannot be run. */
export function isAbsent(exitCode: number): boolean {
  return exitCode === 127 || exitCode === 126;
}
