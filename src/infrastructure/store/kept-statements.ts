/** The newest that were used stay; making one again costs more than running it. */
export function createStatementCache<T>(most: number, make: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    // Whatever was used last stands last.
    if (known !== undefined) kept.delete(text);
    const one = known ?? make(text);
    kept.set(text, one);
    if (kept.size > most) kept.delete(kept.keys().next().value as string);
    return one;
  };
}
