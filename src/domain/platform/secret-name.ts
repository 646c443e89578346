/** A word with one of these endings, and each of these words, says a secret; in the name of a variable, a broad word does as well. */
const SECRET_ENDS =
  "token secret password passwd passphrase passcode apikey accesskey secretkey privatekey".split(" ");
const SECRET_WORDS = ["pwd", "credential", "credentials", "creds"];
const BROAD_WORDS = "secrets passwords token tokens key keys pass auth pat jwt cookie private bearer".split(
  " ",
);

/** Words before `key` that make it a secret, and words before `token` that make it none. */
const KEY_OF =
  /^(?:api|access|secret|private|signing|encryption|master|auth|account|client|service|webhook|deploy|shared|ssh|rsa|admin|project|subscription|server|app|license)$/;
const HONEST_KEY =
  /^(?:public|primary|foreign|sort|partition|cache|hot|index|composite|unique|registry|group|map|row|lookup|object|host)$/;
const HONEST_TOKEN =
  /^(?:max|min|num|stop|pad|eos|bos|unk|sep|cls|mask|special|per|page|next|continuation|prev|unexpected)$/;
const COUNTER = /^(?:\d+|base64|value)$/;

/** A name without any of these in it, in lower case, names no secret field: to look for them costs less than to compile a pattern. */
export const SECRET_STEMS: readonly string[] = ["key", "token", "secret", "pass", "pwd", "cred"];

/** For the environment allow-list: broad, as a variable kept back costs little. `PWD` and `OLDPWD` are folders. */
export function looksLikeSecretName(name: string): boolean {
  const words = wordsOf(name);
  if (words.length === 1 && (words[0] === "pwd" || words[0] === "oldpwd")) return false;
  return words.some((word) => isSecretWord(word) || BROAD_WORDS.includes(word));
}

/** For masking in text: narrow, because honest text must stay readable. The secret word must end the name. */
export function isSecretField(name: string): boolean {
  const lower = name.toLowerCase();
  if (!SECRET_STEMS.some((stem) => lower.includes(stem))) return false;
  const [before, last] = lastWords(name, lower);
  if (last === "key")
    return KEY_OF.test(before) || (isUpper(name) && before !== "" && !HONEST_KEY.test(before));
  if (last === "pwd") return before !== "" && before !== "old";
  if (last.endsWith("token")) return !HONEST_TOKEN.test(before);
  return isSecretWord(last);
}

function isSecretWord(word: string): boolean {
  return SECRET_WORDS.includes(word) || SECRET_ENDS.some((end) => word.endsWith(end));
}

export function isUpper(name: string): boolean {
  return name === name.toUpperCase() && name !== name.toLowerCase();
}

/** The last two words but for counters; "": none. Reads from the end of the name, since a text may be nothing but names. */
function lastWords(name: string, lower: string): readonly [before: string, last: string] {
  // A letter of another alphabet may become one of ours.
  if (lower.length !== name.length || !ASCII.test(name)) return lastOf(wordsOf(name));
  let last: string | null = null;
  let counter = "";
  for (let end = name.length; end > 0; ) {
    if (kindOf(name.charCodeAt(end - 1)) === OTHER) {
      end -= 1;
      continue;
    }
    const start = wordStart(name, end);
    const word = lower.slice(start, end);
    end = start;
    if (last !== null) return [word, last];
    if (!COUNTER.test(word)) last = word;
    else counter = word;
  }
  return ["", last ?? counter];
}

function lastOf(words: string[]): readonly [before: string, last: string] {
  while (words.length > 1 && COUNTER.test(words.at(-1) ?? "")) words.pop();
  return [words.at(-2) ?? "", words.at(-1) ?? ""];
}

const ASCII = /^[\x00-\x7f]*$/;
const [OTHER, LOWER, UPPER] = [0, 1, 2];

/** Digits count as lower case: `v2Key` is two words. */
function kindOf(code: number): number {
  if ((code >= 97 && code <= 122) || (code >= 48 && code <= 57)) return LOWER;
  return code >= 65 && code <= 90 ? UPPER : OTHER;
}

function wordStart(name: string, end: number): number {
  let start = end - 1;
  let kind = kindOf(name.charCodeAt(start));
  for (; start > 0; start -= 1) {
    const before = kindOf(name.charCodeAt(start - 1));
    if (before === OTHER || (before === LOWER && kind === UPPER)) return start;
    kind = before;
  }
  return start;
}

/** `openaiApiKey`, `OPENAI_API_KEY`, `openai.api-key` → openai, api, key. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}
