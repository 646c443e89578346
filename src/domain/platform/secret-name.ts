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

/**
 * For the environment allow-list: broad, because a variable kept back costs little. `PWD` and
 * `OLDPWD` are folders.
 */
export function looksLikeSecretName(name: string): boolean {
  const words = wordsOf(name);
  if (words.length === 1 && (words[0] === "pwd" || words[0] === "oldpwd")) return false;
  return words.some((word) => isSecretWord(word) || BROAD_WORDS.includes(word));
}

/** For masking in text: narrow, because honest text must stay readable. The secret word must end the name. */
export function isSecretField(name: string): boolean {
  const lower = name.toLowerCase();
  if (!SECRET_STEMS.some((stem) => lower.includes(stem))) return false;
  const words = wordsOf(name);
  while (words.length > 1 && COUNTER.test(words.at(-1) ?? "")) words.pop();
  const last = words.at(-1) ?? "";
  const before = words.at(-2) ?? "";
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

/** `openaiApiKey`, `OPENAI_API_KEY`, `openai.api-key` → openai, api, key. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}
