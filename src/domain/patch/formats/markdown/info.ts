/** What the info string of a fenced block says the block is. */
export type BlockInfo =
  | { readonly kind: "file"; readonly path: string; readonly language: string }
  | { readonly kind: "shell"; readonly shell?: "sh" | "zsh" }
  | { readonly kind: "console" }
  | { readonly kind: "git" }
  | { readonly kind: "diff" }
  | { readonly kind: "json" }
  /** Says nothing that can be carried out; the body may still hold a patch of its own. */
  | { readonly kind: "unknown"; readonly tag: string };

/** Paths and languages are short; a longer info string is not one. */
const LONGEST_INFO = 5000;

/**
 * `lang:path` names a file. So do, as models write them, `lang title="path"`, `lang path/file.ext` and a lone
 * `path/file.ext` with a slash and an extension. Anything else is a language.
 */
export function readInfo(info: string): BlockInfo {
  if (info === "" || info.length > LONGEST_INFO) return { kind: "unknown", tag: info.slice(0, 40) };
  const colon = readColon(info);
  if (colon !== undefined) return colon;
  const { first, rest } = splitFirst(info);
  const language = first.split("{", 1)[0]!.replace(/:$/, "");
  const attribute = readAttribute(info);
  if (attribute !== undefined)
    return { kind: "file", path: attribute, language: language.includes("=") ? "" : language };
  const second = secondPath(rest, isShell(language));
  if (second !== undefined) return { kind: "file", path: second, language };
  if (rest === "" && first.includes("/") && looksLikePath(first))
    return { kind: "file", path: first, language: extensionOf(first) };
  return infoByLanguage(language);
}

function infoByLanguage(tag: string): BlockInfo {
  switch (tag.toLowerCase()) {
    case "bash":
    case "shell":
      return { kind: "shell" };
    case "sh":
      return { kind: "shell", shell: "sh" };
    case "zsh":
      return { kind: "shell", shell: "zsh" };
    case "console":
      return { kind: "console" };
    case "git":
      return { kind: "git" };
    case "diff":
    case "patch":
      return { kind: "diff" };
    case "json":
      return { kind: "json" };
    default:
      return { kind: "unknown", tag: tag.slice(0, 40) };
  }
}

function isShell(language: string): boolean {
  const { kind } = infoByLanguage(language);
  return kind === "shell" || kind === "console" || kind === "git";
}

/** `lang:path`. The language has no white space, slash, quote, brace or `=`; the path is the rest of the line. */
function readColon(info: string): BlockInfo | undefined {
  const colon = info.indexOf(":");
  if (colon < 1) return undefined;
  const language = info.slice(0, colon);
  if (/[\s/\\"'={}]/.test(language)) return undefined;
  const path = unquote(info.slice(colon + 1).trim());
  if (path === "") return undefined;
  // `12:15:src/a.ts` quotes lines of a file that exists; it is not that file's new text.
  if (/^[0-9]+$/.test(language) && /^[0-9]+:/.test(path)) return { kind: "unknown", tag: info.slice(0, 40) };
  return { kind: "file", path, language };
}

/** A quoted string at the start gives its inside, other text itself. */
function unquote(text: string): string {
  const quote = text.charAt(0);
  if (quote !== '"' && quote !== "'") return text;
  const end = text.indexOf(quote, 1);
  if (end === -1) return text;
  if (quote === "'") return text.slice(1, end);
  let inside = "";
  for (let at = 1; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') return inside;
    const next = text.charAt(at + 1);
    if (char === "\\" && (next === '"' || next === "\\")) {
      inside += next;
      at++;
    } else inside += char;
  }
  return text;
}

function splitFirst(info: string): { first: string; rest: string } {
  const space = info.search(/\s/);
  return space === -1
    ? { first: info, rest: "" }
    : { first: info.slice(0, space), rest: info.slice(space).trim() };
}

const ATTRIBUTES = ["title", "filename", "file", "path"] as const;

function readAttribute(info: string): string | undefined {
  for (const name of ATTRIBUTES) {
    for (let at = info.indexOf(`${name}=`); at !== -1; at = info.indexOf(`${name}=`, at + 1)) {
      if (at > 0 && !/[\s{,]/.test(info.charAt(at - 1))) continue;
      const raw = info.slice(at + name.length + 1);
      const quoted = raw.startsWith('"') || raw.startsWith("'");
      const value = quoted ? unquote(raw) : raw.split(/[\s},]/, 1)[0]!;
      // A title may be a caption ("Install the tools"); the others say that they are a file.
      if (value !== "" && (name !== "title" || looksLikePath(value))) return value;
    }
  }
  return undefined;
}

/** `ts src/a.ts`. After a shell's name a lone word with a dot is more likely an argument than a path. */
function secondPath(rest: string, shell: boolean): string | undefined {
  const quoted = rest.startsWith('"') || rest.startsWith("'");
  const word = quoted ? unquote(rest) : splitFirst(rest).first;
  if (!looksLikePath(word) || (!quoted && /\s/.test(word))) return undefined;
  return shell && !word.includes("/") && !/\.(sh|bash|zsh)$/.test(word) ? undefined : word;
}

/** A last segment with an extension that has a letter, and nothing that paths do not have. */
function looksLikePath(word: string): boolean {
  if (word.startsWith("-") || word.includes("://") || /[=(){}<>|*?"'`;,]/.test(word)) return false;
  return extensionOf(word) !== "";
}

export function extensionOf(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const dot = name.lastIndexOf(".");
  const extension = dot === -1 ? "" : name.slice(dot + 1);
  return /^[A-Za-z0-9_+-]{1,16}$/.test(extension) && /[A-Za-z]/.test(extension) ? extension : "";
}
