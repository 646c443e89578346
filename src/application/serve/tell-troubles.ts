const AGAIN_MS = 60_000;
const MOST_KEPT = 100;

/** Tells a trouble, and the same one once a minute while it lasts: a store that is away fails several times a second. `name`: what is the same. */
export function createTroubleReporter(
  tell: (line: string) => void,
  now: () => Date,
): (place: string, text: string, name?: string) => void {
  const toldAt = new Map<string, number>();
  return (place, text, name = `${place}: ${text.split("\n")[0]}`) => {
    const at = now().getTime();
    if (at - (toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    toldAt.delete(name);
    toldAt.set(name, at);
    if (toldAt.size > MOST_KEPT) toldAt.delete(toldAt.keys().next().value as string);
    tell(`${place}: ${text}`);
  };
}
