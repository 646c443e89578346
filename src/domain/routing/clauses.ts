/** A message as rules see it. */
export interface Clause {
  readonly text: string;
  /** It says what is not to be done, so it asks for no action. */
  readonly negated: boolean;
}

/** Rules look at the beginning of a message; a log pasted below it says nothing about the request. */
const LOOKED_AT = 2000;
/** Keeps a search of cubic cost within milliseconds. */
const LONGEST_CLAUSE = 300;

const CODE_BLOCK = /(```|~~~)[\s\S]*?(?:\1|$)/gu;
const INLINE_CODE = /`[^`\n]*`/gu;
const URL = /\b(?:https?|ssh|git|file):\/\/[^\s<>"'）)」』】]+/giu;
const QUOTED_LINE = /^\s*>.*$/gmu;

/** Ends of clauses: punctuation, and words after which another thought begins. */
const BOUNDARY =
  /(?<=[。．！!？?;\n]|[、,](?!\d)|\.(?=\s|$)|ずに|ないで(?!す|しょ)(?:ください|下さい|ね|くれ)?|なくていいので|けど|けれど|が、|ので、)|(?=\b(?:but|without|instead of|rather than|and then|(?:please )?(?:do not|don't|dont|never|avoid)) )/giu;

const NEGATED_JA =
  /(?:ずに|ないで(?:ください|下さい|ね|くれ|ほしい|欲しい)?|なくて(?:いい|よい|良い|大丈夫|も)|(?:しては|しちゃ)(?:いけ|だめ|ダメ|駄目)|する(?:な|べきで(?:は)?ない)(?![いっ])|(?:必要|つもり)(?:は|も)?(?:ない|ありません)|不要|禁止|いらない|要りません|いりません|やめて|止めて(?:ほしい|おい)|ません(?!か|でした))[。．！!、,\s]*$/u;
const NEGATED_EN =
  /(?:^|[\s(])(?:do not|don't|dont|never|avoid|without|instead of|rather than|no need to|not going to|shouldn't|should not|must not|mustn't|won't|refrain from)\s/iu;

/**
 * The clauses of a message: normalised (NFKC, so full-width letters are letters), without code, quotations and
 * addresses, cut where a thought ends, each with whether it is negated ("ファイルは作成しないで、説明だけして").
 */
export function clausesOf(message: string): Clause[] {
  const plain = message
    .slice(0, LOOKED_AT * 4)
    .replace(CODE_BLOCK, " ⟦code⟧ ")
    .replace(QUOTED_LINE, "")
    .normalize("NFKC")
    .replace(INLINE_CODE, " ⟦code⟧ ")
    .replace(URL, " ⟦url⟧ ")
    .replace(/[‘’]/gu, "'")
    .replace(/[\p{Cc}\p{Cf}]/gu, (one) => (one === "\n" ? "\n" : one === "\t" ? " " : ""))
    .slice(0, LOOKED_AT)
    .toWellFormed();
  return plain
    .split(BOUNDARY)
    .map((text) => text.replace(/\s+/gu, " ").trim().slice(0, LONGEST_CLAUSE))
    .filter((text) => text !== "")
    .map((text) => ({ text, negated: NEGATED_JA.test(text) || NEGATED_EN.test(text) }));
}
