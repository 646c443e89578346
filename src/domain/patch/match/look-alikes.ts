import { isAscii, readableText } from "./bytes.ts";
import { trimEndBlank } from "./white-space.ts";

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
export function foldLookAlikes(bytesText: string): string {
  if (isAscii(bytesText)) return bytesText;
  let text = readableText(bytesText);
  if (text.includes("\ufffd")) return bytesText;
  for (const [pattern, to] of FOLDS) text = text.replace(pattern, to);
  text = text.replace(/[\uff01-\uff5e]/g, (ch) => String.fromCharCode(ch.charCodeAt(0) - 0xfee0));
  return trimEndBlank(text.normalize("NFC"));
}
