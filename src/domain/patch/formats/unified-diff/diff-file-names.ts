import { readableText, trimEndBlank } from "../../../platform/bytes-text.ts";

/** File names as diffs write them: quoted, followed by a date, with a prefix to strip. Input is bytes text. */

const DATE = /[\t ]\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [-+]\d\d:?\d\d)?$/;
const EPOCH = /\t(1969-12-31|1970-01-01) ([0-2]\d):([0-5]\d):00(?:\.0+)? ([-+])([0-2]\d):?([0-5]\d)$/;
const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
};

/** Reads a C-style quoted string at `from`; `end` is one past the closing quote. */
export function unquote(text: string, from = 0): { readonly value: string; readonly end: number } | null {
  if (text[from] !== '"') return null;
  let value = "";
  for (let i = from + 1; i < text.length; i++) {
    const ch = text[i]!;
    if (ch === '"') return { value, end: i + 1 };
    if (ch !== "\\") {
      value += ch;
      continue;
    }
    const next = text[++i] ?? "";
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(i, i + 3));
    if (octal) {
      value += String.fromCharCode(Number.parseInt(octal[0], 8));
      i += 2;
    } else if (next in ESCAPES) value += ESCAPES[next];
    else return null;
  }
  return null;
}

export function isDevNull(name: string): boolean {
  return name.startsWith("/dev/null") && /^\/dev\/null(\s|$)/.test(name);
}

/** The name in a `---` or `+++` line, still with its prefix. A date may follow a TAB or spaces. */
export function headerFileName(field: string): string {
  const quoted = unquote(field);
  if (quoted) return quoted.value;
  const line = stripCr(field);
  const date = line.includes(":") ? DATE.exec(line) : null;
  if (date) return trimEndBlank(line.slice(0, date.index));
  const tab = line.indexOf("\t");
  return trimEndBlank(tab < 0 ? line : line.slice(0, tab));
}

/** GNU diff dates a side that does not exist at the epoch, in any time zone. */
export function isEpoch(field: string): boolean {
  const found = EPOCH.exec(stripCr(field));
  if (!found) return false;
  const [, day, hour, minute, sign, zoneHour, zoneMinute] = found;
  const zone = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === "-" ? -1 : 1);
  return Number(hour) * 60 + Number(minute) - zone === (day === "1969-12-31" ? 24 * 60 : 0);
}

/** A path for the outside world: UTF-8 decoded, runs of slashes squashed. */
export function cleanPath(bytesText: string): string {
  return readableText(bytesText.includes("//") ? bytesText.replace(/\/{2,}/g, "/") : bytesText);
}

const PREFIXES = new Set(["a", "b", "i", "w", "c", "o", "1", "2", "l", "r", "old", "new", "orig"]);

/** git takes off one, but models leave out `a/` and `b/`: one if the heads are known prefixes, or differ before the same rest. */
export function stripCount(oldName: string | null, newName: string | null): 0 | 1 {
  if (oldName !== null && newName !== null) {
    const oldHead = nameHead(oldName);
    const newHead = nameHead(newName);
    if (oldHead === null || newHead === null) return 0;
    if (oldHead !== newHead && sameBelow(oldName, oldHead, newName, newHead)) return 1;
    return PREFIXES.has(oldHead) && PREFIXES.has(newHead) ? 1 : 0;
  }
  const only = oldName ?? newName;
  const head = only === null ? null : nameHead(only);
  return head !== null && head.length === 1 && PREFIXES.has(head) ? 1 : 0;
}

export function stripPrefix(name: string, count: 0 | 1): string {
  return count === 0 ? name : name.slice(name.indexOf("/") + 1);
}

/** The first component, where others follow. */
function nameHead(name: string): string | null {
  const slash = name.indexOf("/");
  return slash <= 0 ? null : name.slice(0, slash);
}

/** The names are the same but for these first components. */
function sameBelow(oldName: string, oldHead: string, newName: string, newHead: string): boolean {
  const rest = oldName.length - oldHead.length;
  return newName.length - newHead.length === rest && newName.endsWith(oldName.slice(-rest));
}

/** The two names of a `diff --git` line if they can be separated; the same name twice if not. */
export function gitHeaderNames(rest: string): { readonly oldName: string; readonly newName: string } | null {
  const line = stripCr(rest);
  const first = unquote(line);
  if (first) {
    const tail = line.slice(first.end).trimStart();
    return { oldName: first.value, newName: unquote(tail)?.value ?? tail };
  }
  const quote = line.indexOf(' "');
  if (quote > 0) {
    const second = unquote(line, quote + 1);
    if (second) return { oldName: line.slice(0, quote), newName: second.value };
  }
  return splitUnquoted(line);
}

function splitUnquoted(line: string): { readonly oldName: string; readonly newName: string } | null {
  let fallback: { oldName: string; newName: string } | null = null;
  let tried = 0;
  for (let at = line.indexOf(" "); at >= 0 && tried < 256; at = line.indexOf(" ", at + 1), tried++) {
    const oldName = line.slice(0, at);
    const newName = line.slice(at + 1);
    if (oldName === newName || sameBelowPrefix(oldName, newName)) return { oldName, newName };
    if (fallback === null && newName !== "") fallback = { oldName, newName };
  }
  return tried === 1 ? fallback : null;
}

function sameBelowPrefix(oldName: string, newName: string): boolean {
  const oldHead = nameHead(oldName);
  const newHead = nameHead(newName);
  if (oldHead === null || newHead === null || oldName.length === oldHead.length + 1) return false;
  return sameBelow(oldName, oldHead, newName, newHead);
}

export function stripCr(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
