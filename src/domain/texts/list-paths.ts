import { shownPath } from "./shown-path.ts";

const SHOWN = 20;

/** Paths under one another, two spaces in; past twenty only `more` is said of the rest. */
export function listPaths(paths: readonly string[], more: (rest: number) => string): string {
  const lines = paths.slice(0, SHOWN).map((path) => `\n  ${shownPath(path)}`);
  if (paths.length > SHOWN) lines.push(`\n  ${more(paths.length - SHOWN)}`);
  return lines.join("");
}
