import { shownPath } from "./shown-path.ts";

const MOST_LISTED_PATHS = 20;

/** Paths under one another, two spaces in; past twenty only `more` is said of the rest. */
export function listPaths(paths: readonly string[], more: (rest: number) => string): string {
  const lines = paths.slice(0, MOST_LISTED_PATHS).map((path) => `\n  ${shownPath(path)}`);
  if (paths.length > MOST_LISTED_PATHS) lines.push(`\n  ${more(paths.length - MOST_LISTED_PATHS)}`);
  return lines.join("");
}
