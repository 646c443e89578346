/** Colours and cursor moves of a terminal. */
const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
/** What changes how a text reads without being seen: bidirectional overrides, zero-width marks, controls. */
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** A text as it is, not as it would like to look: a diff or an output cannot hide anything in it. */
export function visible(text: string): string {
  return text
    .replace(ANSI, "")
    .replaceAll("\r\n", "\n")
    .replace(UNSEEN, (character) => `⟦${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}⟧`);
}
