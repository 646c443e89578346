import { isAscii, readableText } from "./patch-text.ts";
import { trimBlank, trimEndBlank } from "./white-space.ts";
import { spendBudget, type WorkBudget } from "./work-budget.ts";

/** The rungs on which lines are compared by a key; `exact` compares bytes, and `drift` builds on `indent`. */
export type KeyRung = "whitespace" | "look-alike" | "indent";

export function lineKey(rung: KeyRung, text: string): string {
  switch (rung) {
    case "whitespace":
      return trimEndBlank(text);
    case "look-alike":
      return foldLookAlikes(trimEndBlank(text));
    case "indent":
      return trimBlank(foldLookAlikes(text));
  }
}

/** Characters that models exchange for one another, folded to their ASCII form. */
const FOLDS: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc]/g, "'"],
  [/[\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb]/g, '"'],
  [/[\u2010-\u2015\u2212\ufe58\ufe63]/g, "-"],
  [/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " "],
  [/[\u200b-\u200d\u2060\ufeff\u00ad]/g, ""],
  [/\u2026/g, "..."],
];

/** Bytes text in, a key to compare out. Text that is not UTF-8 stays as it is: unlike bytes must never look alike. */
function foldLookAlikes(bytesText: string): string {
  if (isAscii(bytesText)) return bytesText;
  let text = readableText(bytesText);
  if (text.includes("\ufffd")) return bytesText;
  for (const [pattern, to] of FOLDS) text = text.replace(pattern, to);
  text = text.replace(/[\uff01-\uff5e]/g, (ch) => String.fromCharCode(ch.charCodeAt(0) - 0xfee0));
  return trimEndBlank(text.normalize("NFC"));
}

/** The lines of a file by key, made on first use of a rung. */
export class LineIndex {
  private readonly keysOf = new Map<KeyRung, readonly string[]>();
  private readonly placesOf = new Map<KeyRung, ReadonlyMap<string, readonly number[]>>();

  constructor(private readonly lines: () => readonly string[]) {}

  keys(rung: KeyRung): readonly string[] {
    let keys = this.keysOf.get(rung);
    if (keys === undefined) {
      keys = this.lines().map((line) => lineKey(rung, line));
      this.keysOf.set(rung, keys);
    }
    return keys;
  }

  places(rung: KeyRung, key: string): readonly number[] {
    let places = this.placesOf.get(rung);
    if (places === undefined) {
      const made = new Map<string, number[]>();
      this.keys(rung).forEach((lineKey, line) => {
        const list = made.get(lineKey);
        if (list === undefined) made.set(lineKey, [line]);
        else list.push(line);
      });
      places = made;
      this.placesOf.set(rung, places);
    }
    return places.get(key) ?? [];
  }

  /** Every line at which the pattern of keys stands, found through its rarest line. */
  findAll(rung: KeyRung, pattern: readonly string[], budget: WorkBudget): number[] {
    let rarest = 0;
    let best: readonly number[] | null = null;
    for (let i = 0; i < pattern.length; i++) {
      const places = this.places(rung, pattern[i]!);
      if (places.length === 0) return [];
      if (best === null || places.length < best.length) {
        best = places;
        rarest = i;
      }
    }
    const keys = this.keys(rung);
    const found: number[] = [];
    for (const place of best ?? []) {
      const start = place - rarest;
      if (start < 0 || start + pattern.length > keys.length) continue;
      let same = 0;
      while (same < pattern.length && keys[start + same] === pattern[same]) same++;
      if (!spendBudget(budget, same + 1)) return found;
      if (same === pattern.length) found.push(start);
    }
    return found;
  }
}
