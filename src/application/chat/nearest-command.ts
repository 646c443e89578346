/** The known command that a mistyped one is likeliest to mean. */
export function nearestCommand(name: string, known: readonly string[]): string | undefined {
  const scored = known
    .map((command) => ({ command, distance: editDistance(name, command) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = scored;
  return best !== undefined && best.distance <= Math.max(1, Math.floor(name.length / 3))
    ? best.command
    : undefined;
}

/** Levenshtein's. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
