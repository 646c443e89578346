const MOST_NAMES = 10;

/** Names in one line; past ten only `more` is said of the rest. */
export function nameFew(names: readonly string[], more: (rest: number) => string): string {
  const rest = names.length - MOST_NAMES;
  return [...names.slice(0, MOST_NAMES), ...(rest > 0 ? [more(rest)] : [])].join(", ");
}
