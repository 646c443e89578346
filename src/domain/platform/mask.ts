import { findKnown, knownForms, type SecretSpan } from "./known-secrets.ts";
import { isSecretField, isUpper, SECRET_STEMS } from "./secret-name.ts";

const PREFIX =
  /^(?:sk-ant-|sk-proj-|sk-svcacct-|sk-or-|sk-|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|npm_|hf_|[sr]k_(?:live|test)_)/;
const TOKEN_START =
  /(?<![A-Za-z0-9])(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|npm_|hf_|[sr]k_(?:live|test)_|eyJ)[A-Za-z0-9]/g;
/** The shape of a token: `sk-learn-based` and `hf_transfer` are none. Look-aheads are bounded. */
const TOKEN_SHAPES: readonly RegExp[] = [
  /sk-ant-[A-Za-z0-9_-]{4,}/y,
  /sk-(?:proj|svcacct|or|admin)-[A-Za-z0-9_-]{8,}/y,
  /sk-(?=[A-Za-z_-]{0,200}\d)(?=[A-Za-z0-9_-]{0,200}?[A-Za-z0-9_]{12})[A-Za-z0-9_-]{16,}/y,
  /(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{16,}/y,
  /glpat-[A-Za-z0-9_.-]{16,}/y,
  /(?:xox[abeoprs]|xapp)-(?=[A-Za-z-]{0,200}\d)[A-Za-z0-9-]{10,}/y,
  /(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])/y,
  /AIza[0-9A-Za-z_-]{30,}/y,
  /(?:npm_|hf_)(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{30,}/y,
  /[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/y,
  /eyJ[A-Za-z0-9_-]{8,1024}\.[A-Za-z0-9_-]{8,16384}\.[A-Za-z0-9_-]{4,}/y,
];

const SCHEME = /(?:Bearer)[ \t]{1,4}(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{16,}/gi;
const HEADER =
  /authorization\\?["'`]?[ \t]{0,4}[:=][ \t]{0,4}\\?["'`]?(?:(?:Bearer|Basic|Token|ApiKey|Digest)[ \t]{1,4}([A-Za-z0-9._~+/=-]{4,})|(?=[A-Za-z._~+/=-]*\d)([A-Za-z0-9._~+/=-]{8,}))/gi;
const URL_PASSWORD = /:\/\/([^\s/?#:@"'`<>]{0,256}):([^\s/?#"'`<>]{1,2048})@/y;
const URL_TOKEN = /:\/\/(?=[A-Za-z_-]*\d)([A-Za-z0-9_-]{20,2048})@/y;
const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** Lines of a key, also as a diff, a quote or a JSON string shows them. */
const PEM_BODY =
  /(?:[\s>|-]|\\[nr])*((?:(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*|[A-Za-z0-9+/=]{16,})(?:[\s>|-]|\\[nr])*)+(?:(?:[A-Za-z0-9+/=]{1,15}(?:[\s>|-]|\\[nr])*){1,2}(?=END |$))?)/y;

/** Longer texts are searched by the patterns at once. */
const SHORT_TEXT = 4 * 1024;
/** In lower case: every token contains one of them. */
const TOKEN_MARKS =
  "sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox xapp- akia asia aiza npm_ hf_ k_live_ k_test_ eyj".split(
    " ",
  );
const AUTHORIZATION_MARKS = ["authorization", "bearer"];

/** All secrets that their shape or their name gives away, unordered, possibly overlapping. Linear in the text. */
function findSecrets(text: string): SecretSpan[] {
  const spans: SecretSpan[] = [];
  // Most lines of the log hold nothing of it, and a small job would compile each pattern for the few that it writes.
  const lower = text.length > SHORT_TEXT ? null : text.toLowerCase();
  const mayHold = (marks: readonly string[]) => lower === null || marks.some((mark) => lower.includes(mark));
  if (mayHold(TOKEN_MARKS)) findTokens(text, spans);
  if (mayHold(SECRET_STEMS)) findNamedValues(text, spans);
  if (mayHold(AUTHORIZATION_MARKS)) findAuthorization(text, spans);
  findUrlCredentials(text, spans);
  findPrivateKeys(text, spans);
  return spans;
}

function findTokens(text: string, spans: SecretSpan[]): void {
  const pattern = new RegExp(TOKEN_START);
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const start = match.index;
    const end = tokenEnd(text, start);
    if (end > start) spans.push({ start, end });
    pattern.lastIndex = Math.max(end, start + 1);
  }
}

function tokenEnd(text: string, start: number): number {
  for (const shape of TOKEN_SHAPES) {
    shape.lastIndex = start;
    if (shape.test(text)) return shape.lastIndex;
  }
  return start;
}

function findAuthorization(text: string, spans: SecretSpan[]): void {
  for (const match of text.matchAll(HEADER)) {
    const end = match.index + match[0].length;
    spans.push({ start: end - (match[1] ?? match[2] ?? "").length, end });
  }
  for (const match of text.matchAll(SCHEME)) {
    const end = match.index + match[0].length;
    spans.push({ start: match.index + match[0].search(/\S+$/), end });
  }
}

function findUrlCredentials(text: string, spans: SecretSpan[]): void {
  for (let at = text.indexOf("://"); at !== -1; at = text.indexOf("://", at + 3)) {
    for (const pattern of [URL_PASSWORD, URL_TOKEN]) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match === null) continue;
      const end = at + match[0].length - 1;
      const secret = match[2] ?? match[1] ?? "";
      if (!/^[$<{%]/.test(secret)) spans.push({ start: end - secret.length, end });
      break;
    }
  }
}

function findPrivateKeys(text: string, spans: SecretSpan[]): void {
  if (!text.includes("PRIVATE KEY")) return;
  for (const match of text.matchAll(PEM_BEGIN)) {
    PEM_BODY.lastIndex = match.index + match[0].length;
    const body = PEM_BODY.exec(text)?.[1]?.replace(/(?:[\s>|-]|\\[nr])+$/, "");
    if (body === undefined || body === "") continue;
    const start = text.indexOf(body, match.index + match[0].length);
    spans.push({ start, end: start + body.length });
  }
}

const NAME_END =
  /((?:key|token|secret|password|passwd|passphrase|passcode|pwd|credentials?)(?:[_-]?(?:\d{1,3}|base64|value))?)(\\?["'`])?([ \t]{0,4})(=>|:=|[:=](?!=))([ \t]{0,4})/gi;
/** `[A-Za-z0-9_.-]` */
function isNameChar(code: number): boolean {
  if (code >= 97) return code <= 122;
  if (code >= 65) return code <= 90 || code === 95;
  return (code >= 48 && code <= 57) || code === 45 || code === 46;
}
const LONGEST_NAME = 64;

/** Tokens and keys are one word; of passwords some are whole sentences. */
const WITHOUT_SPACES = /^(?:key|token)/i;

/** Values that begin so refer to something or are masked already. */
const REFERENCE = /\*{3}|[$<{%]|env:|process\.env|os\.environ/y;
const EMPTY_WORD =
  /^(?:x{3,}|\.{3,}|true|false|null|nil|none|undefined|string|str|number|boolean|bool|required|optional|\[?redacted\]?|unset)?$/i;
const SHELL_VALUE = /[^\s"'`;&|<>\\]+/y;
const TIGHT_VALUE = /[^\s"'`;,&|<>(){}[\]\\]+/y;
const LOOSE_VALUE = /(?=[A-Za-z+/=_\-!@#%^&*~.]*\d)[A-Za-z0-9+/=_\-!@#%^&*~.]{8,}(?![\w([{:])/y;
const CODE = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/;

/**
 * `NAME=VALUE`, `"name": "value"`, `name: value` where the name says that it is a secret. Code, types, placeholders and references
 * stay. Linear: no value is searched twice.
 */
function findNamedValues(text: string, spans: SecretSpan[]): void {
  const pattern = new RegExp(NAME_END);
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [, nameEnd = "", quote, before, separator, after] = match;
    const from = nameStart(text, match.index);
    const name = text.slice(from, match.index + nameEnd.length);
    if (!isSecretField(name)) continue;
    const at = pattern.lastIndex;
    const tight = separator === "=" && before === "" && after === "" && quote === undefined;
    if (quote === undefined && endsString(text, from, at)) continue;
    const value = quotedValue(text, at) ?? bareValue(text, at, { tight, shell: tight && isUpper(name) });
    if (value === undefined || isEmptyWord(value.text, name)) continue;
    if (WITHOUT_SPACES.test(nameEnd) && /\s/.test(value.text)) continue;
    spans.push({ start: value.start, end: value.start + value.text.length });
    pattern.lastIndex = value.start + value.text.length;
  }
}

interface NamedValue {
  readonly start: number;
  readonly text: string;
}

function nameStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < LONGEST_NAME && isNameChar(text.charCodeAt(start - 1))) start -= 1;
  return start;
}

/** A longer line is not hand-written code. */
const LONGEST_STRING = 1_000;

/** Whether the name is within a string that ends at `at`, as in `input("Password: ")`: what follows is code, not a value. */
function endsString(text: string, from: number, at: number): boolean {
  const quote = text.charAt(at);
  if (quote !== '"' && quote !== "'" && quote !== "`") return false;
  // A value begins with something else, even after an apostrophe.
  if (!/[\s,;:)\]}+.]|^$/.test(text.charAt(at + 1))) return false;
  let quotes = 0;
  for (let back = from - 1; back >= 0; back -= 1) {
    const char = text.charAt(back);
    if (char === "\n" || char === "\r") break;
    if (from - back > LONGEST_STRING) return false;
    if (char === quote && text.charAt(back - 1) !== "\\") quotes += 1;
  }
  return quotes % 2 === 1;
}

/** The text between quotes on this line; the quotes may be escaped, as in JSON within JSON. */
function quotedValue(text: string, at: number): NamedValue | undefined {
  const escaped = text.charAt(at) === "\\";
  const start = escaped ? at + 2 : at + 1;
  const quote = text.charAt(start - 1);
  if (quote !== '"' && quote !== "'" && quote !== "`") return undefined;
  if (isReference(text, start)) return { start, text: "" };
  let end = start;
  for (; end < text.length; end += 1) {
    const char = text.charAt(end);
    if (char === "\n" || char === "\r") break;
    if (char === quote) return { start, text: text.slice(start, escaped ? end - 1 : end) };
    if (char === "\\" && !escaped) end += 1;
  }
  return { start, text: text.slice(start, end).trimEnd() };
}

function bareValue(
  text: string,
  at: number,
  { tight, shell }: { readonly tight: boolean; readonly shell: boolean },
): NamedValue | undefined {
  if (isReference(text, at)) return undefined;
  const pattern = shell ? SHELL_VALUE : tight ? TIGHT_VALUE : LOOSE_VALUE;
  pattern.lastIndex = at;
  const value = pattern.exec(text)?.[0];
  if (value === undefined) return undefined;
  if (!shell && CODE.test(value)) {
    const next = text.charAt(at + value.length);
    if (next === "(" || next === "[" || value.includes(".")) return undefined;
  }
  return { start: at, text: value };
}

function isReference(text: string, at: number): boolean {
  REFERENCE.lastIndex = at;
  return REFERENCE.test(text);
}

function isEmptyWord(value: string, name: string): boolean {
  return EMPTY_WORD.test(value) || (!isUpper(name) && value.toLowerCase() === name.toLowerCase());
}

/** `secrets`: exact values, found URL-encoded or escaped in JSON too. Those under six characters are left to rules of shape and name. */
export function createMasker({ secrets = [] }: { readonly secrets?: readonly string[] } = {}) {
  const values = knownForms(secrets);
  const find: FindSecretSpans = (text) => joinSpans(text, [...findSecrets(text), ...findKnown(text, values)]);
  /** Idempotent. */
  return { mask: (text: string) => maskUntilStable(text, find(text), find) };
}

/** Masks by shape and name alone. */
export function maskSecrets(text: string): string {
  const find: FindSecretSpans = (part) => joinSpans(part, findSecrets(part));
  return maskUntilStable(text, find(text), find);
}

type FindSecretSpans = (text: string) => SecretSpan[];

/** A mask may show that its neighbours are secret as well: replaces until nothing more is found. */
function maskUntilStable(text: string, spans: readonly SecretSpan[], find: FindSecretSpans): string {
  if (spans.length === 0) return text;
  let masked = replaceSpans(text, spans);
  for (let before = text; masked !== before; ) {
    before = masked;
    masked = replaceSpans(masked, find(masked));
  }
  return masked;
}

/** In order, overlapping ones made one, each with the stars behind it, which an earlier masking left. */
function joinSpans(text: string, spans: readonly SecretSpan[]): SecretSpan[] {
  const result: SecretSpan[] = [];
  const starred = spans.map((span) => (text.charAt(span.end) === "*" ? pastStars(text, span) : span));
  for (const span of starred.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1);
    if (last === undefined || span.start >= last.end) result.push(span);
    else {
      result[result.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
    }
  }
  return result;
}

function pastStars(text: string, span: SecretSpan): SecretSpan {
  let end = span.end;
  while (text.charAt(end) === "*") end += 1;
  return { ...span, end };
}

function replaceSpans(text: string, spans: readonly SecretSpan[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    // A known prefix stays, so that a reader sees which kind of secret it was.
    parts.push(text.slice(at, start), `${PREFIX.exec(text.slice(start, end))?.[0] ?? ""}****`);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}
