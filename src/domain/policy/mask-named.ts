import type { SecretSpan } from "./mask-spans.ts";
import { isSecretField, isUpper } from "./secret-name.ts";

const NAME_END =
  /((?:key|token|secret|password|passwd|passphrase|passcode|pwd|credentials?)(?:[_-]?(?:\d{1,3}|base64|value))?)(\\?["'`])?([ \t]{0,4})(=>|:=|[:=](?!=))([ \t]{0,4})/gi;
const NAME_CHAR = /[A-Za-z0-9_.-]/;
const LONGEST_NAME = 64;

/** Values that begin so refer to something or are masked already. */
const REFERENCE = /\*{3}|[$<{%]|env:|process\.env|os\.environ/y;
const EMPTY_WORD =
  /^(?:x{3,}|\.{3,}|true|false|null|nil|none|undefined|string|str|number|boolean|bool|required|optional|\[?redacted\]?|unset)?$/i;
const SHELL_VALUE = /[^\s"'`;&|<>\\]+/y;
const TIGHT_VALUE = /[^\s"'`;,&|<>(){}[\]\\]+/y;
const LOOSE_VALUE = /(?=[A-Za-z+/=_\-!@#%^&*~.]*\d)[A-Za-z0-9+/=_\-!@#%^&*~.]{8,}(?![\w([{:])/y;
const CODE = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/;

/**
 * `NAME=VALUE`, `"name": "value"`, `name: value` where the name says that it is a secret. A value that is code, a
 * type, a placeholder or a reference stays. Linear: a value that is masked is not searched again, and one that is
 * not cannot hold another name.
 */
export function findNamedValues(text: string, spans: SecretSpan[]): void {
  const pattern = new RegExp(NAME_END);
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [, nameEnd = "", quote, before, separator, after] = match;
    const from = nameStart(text, match.index);
    const name = text.slice(from, match.index + nameEnd.length);
    if (!isSecretField(name)) continue;
    const at = pattern.lastIndex;
    const tight = separator === "=" && before === "" && after === "" && quote === undefined;
    const value = quotedValue(text, at) ?? bareValue(text, at, { tight, shell: tight && isUpper(name) });
    if (value === undefined || isEmptyWord(value.text, name)) continue;
    spans.push({ from, start: value.start, end: value.start + value.text.length });
    pattern.lastIndex = value.start + value.text.length;
  }
}

interface Value {
  readonly start: number;
  readonly text: string;
}

function nameStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < LONGEST_NAME && NAME_CHAR.test(text.charAt(start - 1))) start -= 1;
  return start;
}

/** What stands between quotes on this line; the quotes may be escaped, as in JSON within JSON. */
function quotedValue(text: string, at: number): Value | undefined {
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
): Value | undefined {
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
