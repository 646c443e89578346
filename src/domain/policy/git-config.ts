/** One setting of a git configuration file; section and key in lower case, subsection as written. */
export interface GitSetting {
  readonly name: string;
  readonly value: string;
}

/** A setting and where its text stands: from its key up to the end of its last line. */
export interface PlacedSetting extends GitSetting {
  readonly start: number;
  readonly end: number;
}

export interface GitConfig {
  readonly settings: readonly PlacedSetting[];
  /** Something in it is no configuration as git reads it: whoever judges it cannot know what git would make of it. */
  readonly isOdd: boolean;
}

const HEADER = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)/y;
const BLANKS = /[ \t\r\n]+/y;
const LINE = /[^\n]*/y;

/** Reads git's configuration syntax: sections, subsections, continuation lines, quotes, comments. */
export function readGitConfig(text: string): GitConfig {
  const settings: PlacedSetting[] = [];
  let section = "";
  let isOdd = false;
  let at = text.startsWith("\ufeff") ? 1 : text.startsWith("\u00ef\u00bb\u00bf") ? 3 : 0;
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  while (at < text.length) {
    at += match(BLANKS)?.[0].length ?? 0;
    if (at >= text.length) break;
    const header = match(HEADER);
    if (header !== null) {
      const subsection = header[2] === undefined ? "" : `.${header[2].replace(/\\(.)/g, "$1")}`;
      section = `${(header[1] as string).toLowerCase()}${subsection}`;
      at += header[0].length;
      continue;
    }
    const isComment = text[at] === "#" || text[at] === ";";
    const key = isComment ? null : match(KEY);
    if (key === null || section === "") {
      isOdd ||= !isComment;
      at += match(LINE)?.[0].length ?? 1;
      continue;
    }
    const { value, end, isBroken } = readValue(text, at + key[0].length);
    isOdd ||= isBroken || (key[2] === "" && value !== "");
    const name = `${section}.${(key[1] as string).toLowerCase()}`;
    settings.push({ name, value: key[2] === "=" ? value : "true", start: at, end });
    at = end;
  }
  return { settings, isOdd };
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", "\\": "\\", '"': '"' };

/** Blanks around a value go, those in quotes stay. A quote that is not closed ends with its line. */
function readValue(text: string, start: number): { value: string; end: number; isBroken: boolean } {
  let value = "";
  let kept = 0;
  let quoted = false;
  let isBroken = false;
  let i = start;
  for (; i < text.length; i++) {
    const char = text[i] as string;
    if (char === "\n") break;
    if (char === "\\") {
      i += text[i + 1] === "\r" && text[i + 2] === "\n" ? 2 : 1;
      const next = text[i] ?? "";
      if (next === "\n") continue;
      isBroken ||= ESCAPES[next] === undefined;
      value += ESCAPES[next] ?? next;
      kept = value.length;
    } else if (char === '"') quoted = !quoted;
    else if ((char === "#" || char === ";") && !quoted) {
      const line = text.indexOf("\n", i);
      i = line < 0 ? text.length : line;
      break;
    } else if (quoted || !/[ \t\r]/.test(char)) {
      value += char;
      kept = value.length;
    } else if (value !== "") value += char;
  }
  return { value: value.slice(0, kept), end: Math.min(i, text.length), isBroken: isBroken || quoted };
}
