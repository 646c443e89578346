import { isCoder, type Route } from "../config/configured-kinds.ts";
import {
  type CompiledRule,
  findCatastrophe,
  normalPattern,
  type Rule,
  type RuleOrigin,
  type RuleProblem,
} from "./rule-pattern.ts";
import shipped from "./shipped-rules.json" with { type: "json" };

/** Made of rules.yaml by scripts/gen-routing-rules.ts. */
export const SHIPPED_RULES = shipped as readonly Rule[];

interface Clause {
  readonly text: string;
  /** It says what is not to be done. */
  readonly negated: boolean;
  /** It asks how or whether something is done, and not for it to be done. */
  readonly asks: boolean;
}

/** Rules look at the beginning of a message; a log pasted below it says nothing about the request. */
const LOOKED_AT = 2000;
/** Keeps a search of cubic cost within milliseconds. */
const LONGEST_CLAUSE = 300;

const CODE_BLOCK = /(```|~~~)[\s\S]*?(?:\1|$)/gu;
const INLINE_CODE = /`[^`\n]*`/gu;
const URL = /\b(?:https?|ssh|git|file):\/\/[^\s<>"'）)」』】]+/giu;
const QUOTED_LINE = /^[^\S\r\n\u2028\u2029]*>.*$/gmu;

/** Ends of clauses: punctuation, and words after which another thought begins. */
const BOUNDARY =
  /(?<=[。．！!？?;\n]|[、,](?!\d)|[.:](?=\s|$)|ずに|ないで(?!す|しょ)(?:ください|下さい|ね|くれ)?|なくていいので|けど|けれど|が、|ので、)|(?=\b(?:but|without|instead of|rather than|and then|(?:please )?(?:do not|don't|dont|never|avoid)) )/giu;

const NEGATED_JA =
  /(?:ずに|ないで(?:ください|下さい|ね|くれ|ほしい|欲しい)?|なくて(?:いい|よい|良い|大丈夫|も)|(?:しては|しちゃ)(?:いけ|だめ|ダメ|駄目)|する(?:な|べきで(?:は)?ない)(?![いっ])|(?:必要|つもり)(?:は|も)?(?:ない|ありません)|不要|禁止|いらない|要りません|いりません|やめて|止めて(?:ほしい|おい)|ません(?!か|でした))[。．！!、,\s]*$/u;
const NEGATED_EN =
  /(?:^|[\s(])(?:do not|don't|dont|never|avoid|without|instead of|rather than|no need to|not going to|shouldn't|should not|must not|mustn't|won't|refrain from)\s/iu;

const ASKS_JA =
  /(?:方法|やり方|仕方|書き方|使い方|作り方|直し方|コツ|利点|欠点|意味|理由|違い)(?:を|は|が|って|とか)?(?:.{0,12}(?:教えて|知りたい|説明して|聞きたい|分から|わから)|何|なに|[??]|$)|どうやって|どうすれば|どうやれば|どう思|どういう|とは[??]?$|って(?:何|なに|どう)|べき(?:か|です|かな|だろう|[??])|[たる](?:方が|ほうが)(?:いい|良い|よい)|[たる]の(?:は|って)(?:誰|だれ|いつ|なぜ|どうして|どこ|何|なに)/u;
const ASKS_EN =
  /^(?:(?:so|and|ok|hey|hi|also|well|but|please|can you|could you|tell me|explain|i wonder|do you know)[\s,]+)*(?:how (?:do|does|did|to|can|could|should|would|is|are)|what (?:is|are|does|do|would|should)|what's|should (?:i|we)|is it|do you|did you|have you|are you|would it|why is)\b/iu;

const COURTESY =
  /^(?:please|pls|plz|kindly|can you|could you|can we|could we|would you|will you|(?:i want|i need|i'd like) you to|(?:i|we) (?:want|need|have) to|you (?:should|must|need to)|let's|lets|let us|now|then|also|and|ok|okay|so|hey|hi|next|first|just|go ahead and|(?:mio|shiro|aka|ao|gin)[ ,:]|@[\w.-]+)[ ,:]+/iu;
const MOST_COURTESY = 6;

/** A message's clauses, each negated or not ("ファイルは作成しないで、説明だけして"): normalised (NFKC), without code, quotations, addresses and courtesy. */
function splitClauses(message: string): Clause[] {
  const plain = message
    .slice(0, LOOKED_AT * 4)
    .replace(CODE_BLOCK, " ⟦code⟧ ")
    .replace(QUOTED_LINE, "")
    .normalize("NFKC")
    .replace(INLINE_CODE, " ⟦code⟧ ")
    .replace(URL, (url) => ` ⟦url⟧${/[.,;:!?]$/u.exec(url)?.[0] ?? ""} `)
    .replace(/[‘’]/gu, "'")
    .replace(/[\p{Cc}\p{Cf}]/gu, (one) => (one === "\n" ? "\n" : one === "\t" ? " " : ""))
    .slice(0, LOOKED_AT)
    .toWellFormed();
  return plain
    .split(BOUNDARY)
    .map((text) =>
      text
        .replace(/\s+/gu, " ")
        .trim()
        .replace(/[、,:;]$/u, "")
        .slice(0, LONGEST_CLAUSE),
    )
    .filter((text) => /[\p{L}\p{N}⟦]/u.test(text))
    .map((text) => ({
      text: withoutCourtesy(text),
      negated: NEGATED_JA.test(text) || NEGATED_EN.test(text),
      asks: ASKS_JA.test(text) || ASKS_EN.test(text),
    }));
}

function withoutCourtesy(text: string): string {
  let rest = text;
  for (let i = 0; i < MOST_COURTESY; i++) {
    const shorter = rest.replace(COURTESY, "");
    if (shorter === rest || shorter === "") break;
    rest = shorter;
  }
  return rest;
}

export interface RuleMatch {
  readonly rule: CompiledRule;
  readonly words: string;
}

/** Compiles rules; one that is not a pattern, could take exponential time, or fails its own examples is left out and named. */
export function compileRules(
  rules: readonly Rule[],
  origin: RuleOrigin,
  clockMs?: () => number,
): { readonly rules: CompiledRule[]; readonly problems: RuleProblem[] } {
  const compiled: CompiledRule[] = [];
  const problems: RuleProblem[] = [];
  for (const rule of rules) {
    const result = compileRule(rule, origin, clockMs);
    if ("regex" in result) compiled.push(result);
    else problems.push(result);
  }
  return { rules: compiled, problems };
}

function compileRule(
  rule: Rule,
  origin: RuleOrigin,
  clockMs: (() => number) | undefined,
): CompiledRule | RuleProblem {
  const { pattern } = rule;
  const trouble = findCatastrophe(pattern, clockMs);
  if (trouble !== null) return { kind: trouble.kind, pattern, detail: trouble.detail };
  const compiled = compileTrustedRule(rule, origin);
  for (const [examples, expected] of [
    [rule.match ?? [], true],
    [rule.not_match ?? [], false],
  ] as const)
    for (const example of examples)
      if ((matchRules([compiled], example) !== null) !== expected)
        return { kind: "example", pattern, example, expected };
  return compiled;
}

/** Without any check: for rules that a test has checked. */
export function compileTrustedRule(rule: Rule, origin: RuleOrigin): CompiledRule {
  const { pattern, route, confidence, yields, order, needs } = rule;
  const isShipped = origin === "shipped";
  let regex: RegExp | undefined;
  return {
    pattern,
    route,
    confidence,
    origin,
    get regex() {
      regex ??= new RegExp(normalPattern(pattern), "iu");
      return regex;
    },
    needs: isShipped ? (needs?.split("|") ?? null) : null,
    yields: isShipped && yields === true,
    order: isShipped && order === true,
  };
}

/** The first rule that matches a clause; one that yields gives way to an order. Negated clauses match none, questions none that acts. */
export function matchRules(rules: readonly CompiledRule[], message: string): RuleMatch | null {
  const clauses = splitClauses(message);
  const first = matchClauses(rules, clauses);
  if (first?.rule.yields !== true) return first;
  const orders = rules.filter(({ order }) => order);
  return matchClauses(orders, clauses) ?? first;
}

function matchClauses(rules: readonly CompiledRule[], clauses: readonly Clause[]): RuleMatch | null {
  for (const rule of rules) {
    for (const { text, negated, asks } of clauses) {
      if (negated || (asks && (rule.route === "OPS" || isCoder(rule.route))) || !mayMatch(rule, text))
        continue;
      const found = rule.regex.exec(text);
      if (found !== null && found[0] !== "") return { rule, words: found[0] };
    }
  }
  return null;
}

/** To compile a pattern costs a hundred times what a look for its words does. */
function mayMatch({ needs }: CompiledRule, text: string): boolean {
  const lower = text.toLowerCase();
  return needs === null || needs.some((word) => lower.includes(word));
}

/** A sentence that asks, or that is about its writer. */
const NO_REPORT =
  /^(?:why|what|how|when|who|whom|whose|where|which|if|is|are|was|were|do|does|did|can|could|should|would|will|may|explain|describe|tell|write|i|i'm|we|you|he|she|they)\b|[?？]\s*$|(?:なぜ|どうして|教えて|知りたい)/iu;
/** Code, or a word for a part of a program. */
const OF_A_PROGRAM =
  /[\w\])]\(|`|\w_\w|[a-z][A-Z]|\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|c|cpp|h|php|css|html|json|ya?ml|toml|sh)\b|\b(?:[Bb]utton|[Pp]age|[Ff]orm|[Ll]ogin|[Ss]ign-?in|[Ss]earch|[Ee]xport|[Ii]mport|[Uu]pload|[Dd]ownload|[Pp]arser|[Ff]unction|[Mm]ethod|[Tt]ests?|[Bb]uild|API|[Ee]ndpoint|[Rr]equest|[Rr]esponse|[Qq]uery|[Dd]atabase|[Cc]onfig|[Ss]ettings?|[Mm]enu|[Dd]ialog|[Tt]oggle|[Aa]pp|[Ss]erver|CLI|[Cc]ommand|[Ff]lag|[Oo]ption|[Ss]cript|[Cc]ache|[Cc]ookie|[Ss]ession|[Ii]con|[Hh]eader|[Ff]ooter|[Ll]ayout|CSS|[Dd]ropdown|[Cc]heckbox|[Ff]ields?)\b|ボタン|ログイン|保存|画面|ページ|テスト|ビルド|関数|メソッド|フォーム|設定|一覧|検索|日付|エラー|データ|ファイル|リンク|メニュー|アプリ|サーバ|コマンド|[A-Za-z]{3,} ?(?:が|は|を|の|で|に)/u;
const FAULT_EN =
  /\b(?:crash(?:es|ed)|hangs|freezes|segfaults|fails|breaks|does nothing|is broken|are broken)\b|\b(?:does ?n[o']t|doesnt|can ?not|can't|wo ?n[o']t|no longer|stopped) (?:\w+ing\b|works?\b|takes?\b|accepts?\b|handles?\b|supports?\b|parses?\b|match|loads?\b|saves?\b|starts?\b|renders?\b|shows?\b|updates?\b|respects?\b|honou?rs?\b|escapes?\b|compiles?\b|returns?\b|finds?\b|recogni[sz]es?\b|opens?\b|closes?\b|sorts?\b)|\b(?:throws|raises|returns|gives|says|shows|prints|yields|reports|picks up|ignores|drops|loses|swallows)\b.{1,120}\b(?:instead of|rather than|although|even though|as if|but|should|wrong(?:ly)?|unchanged|only inherits?)\b|\bshown wrong\b|\boff by one\b/iu;
const FAULT_JA =
  /(?:動か(?:ない|なく)|動きません|でき(?:ない|なく|ません)|(?:表示|保存|反映|更新|送信|実行|検出)(?:され|し)(?:ない|ません|なく)|反応し(?:ない|ません)|(?:落ち|固ま|ずれ|消え|止ま|壊れ)(?:る|り?ます|て(?:い)?(?:る|ます))|クラッシュし(?:ます|て(?:い)?(?:る|ます))|クラッシュする|文字化け(?:する|します|して(?:い)?(?:る|ます))|何も起き(?:ない|ません)|おかしい|握りつぶされ(?:る|ます|て(?:い)?(?:る|ます))|エラーに(?:なる|なります|なって(?:い)?(?:る|ます)))(?:[。.! ]|です|んです|のです){0,3}$/u;

/** Whether a message reports a fault of a program ("the export button does nothing"), for when no model can say what it is. */
export function tellsFault(message: string): boolean {
  return message
    .slice(0, LOOKED_AT)
    .normalize("NFKC")
    .replace(/[‘’]/gu, "'")
    .split(/(?<=[.。!?？])\s+|\n+/u)
    .map((sentence) => sentence.trim())
    .some(
      (text) =>
        !NO_REPORT.test(text) && OF_A_PROGRAM.test(text) && (FAULT_EN.test(text) || FAULT_JA.test(text)),
    );
}

/** The parts that differ from message to message: names of files, code, addresses, numbers, quotations. */
const PARTICULAR =
  /⟦(?:code|url)⟧|[「『"“][^」』"”]{1,60}[」』"”]|[\w@~.-]*[/\\][\w@/\\.~-]+|\b[\w-]+\.[a-z]{1,5}\b|\b[a-z]+[A-Z]\w*\b|\b\w*_\w+\b|[0-9]+/gu;
const PATTERN_GAP = ".{0,40}";
const MOST_GAPS = 2;
const LONGEST_RULE = 60;
/** Fewer letters than this would match too much. */
const FEWEST_WIDE = 3;
const FEWEST_NARROW = 8;
const LEARNED_CONFIDENCE = 0.95;

/** A literal rule for messages like this one: its first clause that asks, with gaps for what differs. Null if too little is left. */
export function deriveRule(message: string, route: Route): Rule | null {
  const clause = splitClauses(message).find(({ text, negated }) => !negated && isSpecial(text));
  if (clause === undefined) return null;
  const literal = clause.text.replace(/[。．.!?！？、,\s]+$/u, "").slice(0, LONGEST_RULE);
  const pieces = literal
    .split(PARTICULAR)
    .map((piece) => piece.trim())
    .slice(0, MOST_GAPS + 1);
  while (pieces[0] === "") pieces.shift();
  while (pieces.at(-1) === "") pieces.pop();
  if (!isSpecial(pieces.join(""))) return null;
  const pattern = pieces
    .map(escapePattern)
    .join(PATTERN_GAP)
    .replaceAll(`${PATTERN_GAP}${PATTERN_GAP}`, PATTERN_GAP);
  const rule: Rule = { pattern, route, confidence: LEARNED_CONFIDENCE, match: [message] };
  if (
    findCatastrophe(pattern) !== null ||
    matchRules([compileTrustedRule(rule, "learned")], message) === null
  )
    return null;
  return rule;
}

function isSpecial(text: string): boolean {
  const wide = [...text].filter((char) => char > "\u2e7f").length;
  const narrow = text.replace(/[^a-z]/giu, "").length;
  return wide >= FEWEST_WIDE || narrow >= FEWEST_NARROW;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&").replace(/\s+/gu, " ");
}
