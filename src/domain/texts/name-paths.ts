import { shownPath } from "./shown-path.ts";

const MOST_NAMED_PATHS = 5;

/** The first paths of `count`, in one line; `more` is said of the rest. */
export function namePaths(paths: readonly string[], count: number, more: (rest: number) => string): string {
  const shown = paths.slice(0, MOST_NAMED_PATHS).map(shownPath);
  return [...shown, ...(count > shown.length ? [more(count - shown.length)] : [])].join(", ");
}
