const SHOWN = 10;

/** Names in one line; past ten only `more` is said of the rest. */
export function nameFew(names: readonly string[], more: (rest: number) => string): string {
  const rest = names.length - SHOWN;
  return [...names.slice(0, SHOWN), ...(rest > 0 ? [more(rest)] : [])].join(", ");
}
