import { html, type Piece } from "./markup.ts";

/** Words that many languages keep for themselves; a few too many colour nothing that misleads. */
const KEYWORDS = new Set(
  `abstract as async await break case catch class const continue def default defer del do elif else end enum except export extends
  false False final finally fn for from func function go if impl import in interface is lambda let match mod module new nil None not null
  of or package pass private protected pub public raise readonly return select self static struct super switch then this throw trait true
  True try type typeof undefined union unless until use using val var void where while with yield and echo fi done esac begin`.split(
    /\s+/,
  ),
);
const WITH_HASH = new Set([
  "py",
  "python",
  "sh",
  "bash",
  "zsh",
  "shell",
  "console",
  "rb",
  "ruby",
  "yaml",
  "yml",
  "toml",
  "r",
  "perl",
  "make",
  "dockerfile",
]);
const PLAIN = new Set(["", "text", "txt", "plain", "md", "markdown", "csv", "log", "output"]);
/** More than this is read, not admired. */
const MOST_CHARACTERS = 20_000;

const TOKENS = (comment: string) =>
  new RegExp(
    `(${comment})|("(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`)|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`,
    "g",
  );
const SLASH = TOKENS("//[^\\n]*|/\\*[\\s\\S]*?\\*/");
const HASH = TOKENS("#[^\\n]*");

/** A block of code with its comments, strings, numbers and keywords marked. What it does not know stays plain. */
export function highlight(code: string, language: string): Piece {
  const name =
    language
      .trim()
      .toLowerCase()
      .split(/[\s:{]/)[0] ?? "";
  if (name === "diff" || name === "patch") return highlightDiff(code);
  if (PLAIN.has(name) || code.length > MOST_CHARACTERS) return code;
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of code.matchAll(WITH_HASH.has(name) ? HASH : SLASH)) {
    const [text, comment, string, number, word] = match;
    const kind =
      comment !== undefined
        ? "c"
        : string !== undefined
          ? "s"
          : number !== undefined
            ? "n"
            : word !== undefined && KEYWORDS.has(word)
              ? "k"
              : null;
    if (kind === null) continue;
    pieces.push(code.slice(at, match.index), html`<span class="hl-${kind}">${text}</span>`);
    at = match.index + text.length;
  }
  return [...pieces, code.slice(at)];
}

function highlightDiff(code: string): Piece {
  return code.split("\n").map((line, n) => {
    const kind = /^(?:\+\+\+|---|@@|diff |index )/.test(line) ? "c" : line.startsWith("+") ? "plus" : "minus";
    const piece =
      kind === "minus" && !line.startsWith("-") ? line : html`<span class="hl-${kind}">${line}</span>`;
    return [n > 0 && "\n", piece];
  });
}
