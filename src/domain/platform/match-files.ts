/** Each list is lower-cased once, because every keystroke searches it. */
const lowered = new WeakMap<readonly string[], readonly string[]>();

/** Paths with these letters in this order; those with letters close together, in the file's own name, first. */
export function matchFiles(files: readonly string[], wanted: string, most: number): string[] {
  const letters = wanted.toLowerCase();
  const low = lowered.get(files) ?? files.map((path) => path.toLowerCase());
  lowered.set(files, low);
  const best: { readonly path: string; readonly score: number }[] = [];
  for (const [index, path] of low.entries()) {
    const score = letters === "" ? -path.length : scorePath(path, letters);
    if (score === Number.NEGATIVE_INFINITY) continue;
    if (best.length === most && score <= (best.at(-1)?.score ?? 0)) continue;
    let at = best.length;
    while (at > 0 && (best[at - 1]?.score ?? 0) < score) at -= 1;
    best.splice(at, 0, { path: files[index] as string, score });
    if (best.length > most) best.pop();
  }
  return best.map(({ path }) => path);
}

const CLOSE = 8;
const BEGINS_WORD = 6;
const IN_NAME = 3;

/** The better score of two matches: with each letter as early as possible, and as late as possible. */
function scorePath(path: string, letters: string): number {
  const early: number[] = [];
  for (let at = -1, i = 0; i < letters.length; i++) {
    at = path.indexOf(letters.charAt(i), at + 1);
    if (at < 0) return Number.NEGATIVE_INFINITY;
    early.push(at);
  }
  const late: number[] = [];
  for (let at = path.length, i = letters.length - 1; i >= 0; i--) {
    at = path.lastIndexOf(letters.charAt(i), at - 1);
    late.unshift(at);
  }
  const name = path.lastIndexOf("/") + 1;
  const whole = path.indexOf(letters, name);
  const exact = whole < 0 ? 0 : whole === name ? 20 : 10;
  return Math.max(scorePlaces(path, early, name), scorePlaces(path, late, name)) + exact - path.length * 0.1;
}

function scorePlaces(path: string, places: readonly number[], name: number): number {
  let score = 0;
  let before = -1;
  for (const [index, at] of places.entries()) {
    if (index > 0 && at === before + 1) score += CLOSE;
    if (at === 0 || beginsWord(path.charCodeAt(at - 1))) score += BEGINS_WORD;
    if (at >= name) score += IN_NAME;
    score -= Math.min(8, at - before - 1) * 0.5;
    before = at;
  }
  return score;
}

/** After `/`, `.`, `_`, `-` or a blank. */
function beginsWord(before: number): boolean {
  return before === 47 || before === 46 || before === 95 || before === 45 || before === 32;
}
