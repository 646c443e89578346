/**
 * A JavaScript pattern (Unicode rules) in ripgrep's language, such that ripgrep finds at least every line that
 * JavaScript finds; null where that cannot be said. Since the lines are matched again afterwards, more is harmless.
 */
export function toRipgrepPattern(pattern: string, ignoreCase: boolean): string | null {
  let out = "";
  let at = 0;
  while (at < pattern.length) {
    const rest = pattern.slice(at);
    const token = TOKEN.exec(rest)?.[0] ?? "";
    const translated = translate(token, ignoreCase);
    if (translated === null) return null;
    out += translated;
    at += token.length;
  }
  return out;
}

/** One class, escape, group opening, quantifier or character. */
const TOKEN =
  /^(?:\[(?:\\(?:u\{[0-9a-fA-F]+\}|.)|[^\]\\])*\]|\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])|\((?:\?(?:<[A-Za-z_$][\w$]*>|.))?|\{\d+(?:,\d*)?\}|[\s\S])/u;

/** Bytes that are no UTF-8: JavaScript sees one replacement character for up to three of them. */
const INVALID = "(?-u:[\\x80-\\xff]){1,3}";
const ANY = `(?:.|${INVALID})`;
/** What JavaScript calls white space and ripgrep does not, added. */
const SPACE = "[\\s\\x{FEFF}]";

function translate(token: string, ignoreCase: boolean): string | null {
  switch (token) {
    case ".":
    case "\\S":
    case "\\W":
    case "\\D":
      return ANY;
    case "\\s":
      return SPACE;
    case "\\d":
      return "[0-9]";
    case "\\w":
      return "[0-9A-Za-z_]";
    case "\\b":
      return ignoreCase ? null : "(?-u:\\b)";
    // A mark at the start of a file, a carriage return at the end of a line: JavaScript does not see them.
    case "^":
      return "^\\x{FEFF}?";
    case "$":
      return "\\r?$";
    case "|":
    case "*":
    case "+":
    case "?":
    case "(":
    case ")":
    case "(?:":
      return token;
  }
  if (token.startsWith("(?<") && token.endsWith(">")) return "(";
  if (token.startsWith("(?")) return null;
  if (token.startsWith("{")) return token.length > 1 ? token : null;
  if (token.startsWith("[")) return translateClass(token.slice(1, -1));
  const code = codeOf(token);
  return code === null || code === 0xfffd ? null : letter(code);
}

const MEMBER = /\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])|[\s\S]/gu;

function translateClass(body: string): string | null {
  const negated = body.startsWith("^");
  const members = (negated ? body.slice(1) : body).match(MEMBER) ?? [];
  if (members.length === 0) return null;
  let out = "";
  for (const [at, member] of members.entries()) {
    const inRange = member === "-" && at > 0 && at < members.length - 1;
    if (member === "\\d") out += "0-9";
    else if (member === "\\w") out += "0-9A-Za-z_";
    else if (member === "\\s" && !negated) out += "\\s\\x{FEFF}";
    else if (inRange) out += "-";
    else {
      const code = codeOf(member);
      if (code === null || code === 0xfffd) return null;
      out += letter(code);
    }
  }
  return negated || /[^\x20-\x7e]/.test(body) ? `(?:[${negated ? "^" : ""}${out}]|${INVALID})` : `[${out}]`;
}

const CONTROL: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, "0": 0 };

/** The character that a token means; null where it means something else. */
function codeOf(token: string): number | null {
  if (!token.startsWith("\\")) return token.codePointAt(0) ?? null;
  const hex = /^\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))$/.exec(token);
  if (hex !== null) {
    const code = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? "", 16);
    return code >= 0xd800 && code <= 0xdfff ? null : code;
  }
  const name = token.slice(1);
  if (Object.hasOwn(CONTROL, name)) return CONTROL[name] ?? null;
  return /^[\^$\\.*+?()[\]{}|/-]$/.test(name) ? (name.codePointAt(0) ?? null) : null;
}

function letter(code: number): string {
  return `\\x{${code.toString(16)}}`;
}
