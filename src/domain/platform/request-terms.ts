import japaneseWords from "./japanese-words.json" with { type: "json" };

/** Japanese words of requests, with the English words for them in code: a Japanese request would find little by its own words. */
const JAPANESE_WORDS: Readonly<Record<string, readonly string[]>> = japaneseWords;

/** A part of a request to search for in files. */
export interface Term {
  readonly kind: "quote" | "identifier" | "word";
  /** Any of them is a hit. Only words ignore case. */
  readonly spellings: readonly string[];
  readonly weight: number;
}

/** Characters of a request that are read; the rest of a pasted log adds nothing. */
const READ_CHARS = 20_000;
const MOST_TERMS = 32;
/** A longer word is not a name but encoded data or a drawn line. */
const LONGEST_WORD = 200;

const WEIGHTS = { quote: 3, identifier: 3, code: 2, japanese: 1.5, word: 1, part: 0.7 };

/** The terms of a request to search for in files, the most telling first; repeated terms count more. */
export function requestTerms(request: string): Term[] {
  const text = request.slice(0, READ_CHARS);
  const found = new Map<string, Term>();
  const said = new Map<string, number>();
  const add = (kind: Term["kind"], spellings: readonly string[], weight: number) => {
    const [first = ""] = spellings;
    const key = first.toLowerCase();
    const known = found.get(key);
    said.set(key, (said.get(key) ?? 0) + 1);
    if (known === undefined || known.weight < weight) found.set(key, { kind, spellings, weight });
  };
  for (const quote of quotesIn(text)) add("quote", [quote], WEIGHTS.quote);
  for (const name of identifiersIn(text)) {
    add("identifier", spellingsOf(name), WEIGHTS.identifier);
    for (const part of partsOf(name)) add("word", [stem(part)], WEIGHTS.part);
  }
  for (const [name] of text.matchAll(/(?<![\w-])[A-Za-z]{2,}(?:-[A-Za-z]{2,})+(?![\w-])/g))
    if (name.length <= LONGEST_WORD) add("identifier", spellingsOfJoined(name), WEIGHTS.code);
  for (const name of codeIn(text))
    if (!isIdentifier(name)) {
      if (!COMMON.has(name.toLowerCase())) add("identifier", [name], WEIGHTS.code);
      add("word", [stem(name.toLowerCase())], WEIGHTS.word);
    }
  for (const [word] of text.matchAll(/[A-Za-z][A-Za-z0-9]{2,}/g)) {
    if (word.length > LONGEST_WORD) continue;
    const lower = word.toLowerCase();
    if (!isIdentifier(word) && !COMMON.has(lower) && !COMMON.has(stem(lower)))
      add("word", [stem(lower)], WEIGHTS.word);
  }
  for (const run of text.match(/[\p{Script=Han}\p{Script=Katakana}ー]{2,}/gu) ?? []) {
    if (run.length <= LONGEST_WORD && !COMMON.has(run)) add("quote", [run], WEIGHTS.japanese);
  }
  for (const [word, english] of Object.entries(JAPANESE_WORDS))
    if (text.includes(word)) for (const one of english) add("word", [one], WEIGHTS.word);
  return [...found]
    .map(([key, term]) => ({ ...term, weight: term.weight * Math.min(2, 0.6 + 0.4 * (said.get(key) ?? 1)) }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MOST_TERMS);
}

/** Quoted texts that are not a single name: messages, searched literally, and the parts of those that are not code: some may be new. */
function quotesIn(text: string): string[] {
  const quotes = text.matchAll(/'([^'\n]{8,100})'|"([^"\n]{8,100})"|`([^`\n]{8,100})`|「([^」\n]{3,60})」/g);
  return [...quotes]
    .flatMap((match) => {
      const quote = (match.slice(1).find((one) => one !== undefined) ?? "").trim();
      // What a program puts between the words of its message differs: names in quotation marks, numbers.
      const between =
        match[3] === undefined ? /"[^"]*"|'[^']*'|\d+|[<>{}[\]]|[.:;!?]\s+/ : /"[^"]*"|'[^']*'|\d+/;
      const parts = quote.split(between).map((part) => part.trim());
      return [
        quote,
        ...(parts.length > 1 ? parts.filter((part) => part.length >= 10 && /\S\s+\S/.test(part)) : []),
      ];
    })
    .map((quote) => quote.replace(/[\s\d.!。…]+$/u, ""))
    .filter((quote) => /^[\p{L}\p{N}].*(?:\s|[^\x20-\x7e])/u.test(quote) && quote.length >= 3);
}

const MOST_LITERALS = 12;

/** The literals of a request: in quotation marks, in backticks, numbers. They identify a place in a file of data, not in code. */
export function literalTerms(request: string): Term[] {
  const found = request
    .slice(0, READ_CHARS)
    .matchAll(
      /'([^'\n]{2,100})'|"([^"\n]{2,100})"|`([^`\n]{2,100})`|「([^」\n]{2,60})」|\b(\d[\d.]{2,20})\b/g,
    );
  const literals = [...found].map((match) => match.slice(1).find((one) => one !== undefined) ?? "");
  return [...new Set(literals.map((one) => one.trim()).filter((one) => one !== ""))]
    .slice(0, MOST_LITERALS)
    .map((one) => ({ kind: "quote", spellings: [one], weight: WEIGHTS.quote * 2 }));
}

/** Names as programmers write them: camelCase, snake_case, PascalCase of two words. */
function identifiersIn(text: string): string[] {
  return [...new Set(text.match(/[A-Za-z_$][\w$]*/g) ?? [])].filter(isIdentifier);
}

/** Built-in errors, which too many files throw. */
const BUILT_IN =
  /^(?:Type|Range|Syntax|Value|Key|Index|Reference|Runtime|Attribute|Lookup|Assertion|Import|Name|OS)Error$/;

/** Formats and emphasis in capitals; other words in capitals are environment variables and constants. */
const CAPITALS =
  /^(?:JSON|JSONL|HTML|HTTPS?|YAML|TOML|ASCII|UTF|NULL|TRUE|FALSE|NONE|TODO|NOTE|FIXME|README|ONLY|ALSO|MUST|NEVER|ALWAYS|PLEASE|CRUD|REST|SOAP|CORS|CSRF|GUID|UUID|SHA\d*|GET|POST|HEAD|DELETE|PATCH|SELECT|INSERT|UPDATE)$/;

function isIdentifier(name: string): boolean {
  if (BUILT_IN.test(name)) return false;
  if (/^[A-Z][A-Z0-9]{3,}$/.test(name)) return !CAPITALS.test(name);
  return (
    name.length >= 4 &&
    name.length <= LONGEST_WORD &&
    (/[a-z][A-Z]|[A-Z]{2}[a-z]{2}/.test(name) || /[A-Za-z]_[A-Za-z]/.test(name))
  );
}

/** Extensions of files, and endings of host names. */
const ENDING =
  /^(?:[cm]?[jt]sx?|json|md|py|go|rs|rb|java|php|cpp|hpp|css|html?|xml|ya?ml|toml|lock|txt|csv|svg|png|exe|bat|sql|com|org|net|dev)$/i;

/** Plain words in a code position: after a dot, before a bracket, in backticks. */
function codeIn(text: string): string[] {
  const words = [...text.matchAll(/[A-Za-z_$][\w$]{2,}/g)];
  return words.flatMap(({ 0: name, index }) =>
    name.length <= LONGEST_WORD && isWrittenAsCode(text, name, index) ? [name] : [],
  );
}

function isWrittenAsCode(text: string, name: string, index: number): boolean {
  const [before, after] = [text[index - 1], text[index + name.length]];
  const isMember = before === "." && /\w/.test(text[index - 2] ?? "") && !ENDING.test(name);
  return isMember || after === "(" || (before === "`" && after === "`");
}

/** `copySync` may be a file `copy-sync.js` or a column `copy_sync`. */
function spellingsOf(name: string): string[] {
  const parts = partsOf(name);
  // `to_text` has only one part that counts, and that is another word.
  return parts.length < 2 ? [name] : [...new Set([name, parts.join("-"), parts.join("_")])];
}

/** `accept-ranges` may be a header, a variable `accept_ranges` or a property `acceptRanges`. */
function spellingsOfJoined(name: string): string[] {
  const parts = name.toLowerCase().split("-");
  const capital = (part: string) => part.charAt(0).toUpperCase() + part.slice(1);
  const [first = "", ...rest] = parts;
  const all = [
    name,
    parts.join("-"),
    parts.join("_"),
    parts.map(capital).join("-"),
    first + rest.map(capital).join(""),
  ];
  return [...new Set(all)];
}

/** A part of a name of this length counts even if the word is common in sentences: `Nothing` of `NothingType`. */
const SHORT_PART = 4;

function partsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_$-]+/)
    .filter((part) => part.length >= SHORT_PART || (part.length === 3 && !COMMON.has(part)));
}

export function stem(word: string): string {
  const short = word.replace(/(?:ies|ing|ed|(?<=[sxz]|[cs]h)es|(?<!s)s)$/, "");
  return short.length >= 3 ? short : word;
}

/** Words of requests that lead to no place. */
const COMMON = new Set(
  `about above add added adding adds after again against all already also although always and any are because been before being below best better between both bug but
call called calls can cannot case change changes check code correct could did does doing done down each earlier easy either else even ever every example
fail failed failing fails feature few file files fine first fix fixed for from get gets give given goes good had handle has have help her here his how
implement inside into instead issue its itself just keep kept know last later least less let like line lines look made make makes many maybe mean might more most much must
need needs never new next not nothing now off old once one only other our out over own place please problem put really right run
same say says see seems set should show simple simply since some soon something sometimes still such support sure
take taken than that the their them then there these they thing things this those throw throws throwing time too try twice two under until use used user uses using
very want was way well were what when where whether which while who whole why will with without work works would write wrong yes yet you your
module exports function class method value values true false null undefined return const test tests testing spec readme document docs
修正 対応 実装 変更 追加 作成 問題 場合 確認 必要 処理 機能 不具合 バグ コード ファイル テスト お願い 部分 動作 正常 結果 現在`.split(
    /\s+/,
  ),
);

export function termsIn(text: string, terms: readonly Term[]): number[] {
  const lower = text.toLowerCase();
  const found: number[] = [];
  for (let index = 0; index < terms.length; index++) {
    const { kind, spellings } = terms[index] as Term;
    const where = kind === "word" ? lower : text;
    for (const one of spellings) {
      if (!where.includes(one)) continue;
      found.push(index);
      break;
    }
  }
  return found;
}

/** The words in the name of a file or an identifier, in lower case, without single letters. */
export function wordsOfName(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part.length > 1);
}
