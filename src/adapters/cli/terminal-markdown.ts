import { colourDiff, visibleWidth, wrapWords } from "./terminal-text.ts";

const BOLD = (text: string) => `\x1b[1m${text}\x1b[22m`;
const ITALIC = (text: string) => `\x1b[3m${text}\x1b[23m`;
const CODE = (text: string) => `\x1b[36m${text}\x1b[39m`;
const DIM = (text: string) => `\x1b[2m${text}\x1b[22m`;

/**
 * Renders streamed Markdown for a terminal, line by line: headings, lists, emphasis, code, diffs. Sentences break
 * between words at so many columns; code and diffs stay as they are.
 */
export function createMarkdownPrinter(columns = Number.POSITIVE_INFINITY) {
  let pending = "";
  /** Of the line that is shown in part. */
  let column = 0;
  let fence: { readonly mark: string; readonly isDiff: boolean } | null = null;

  const line = (text: string): string => {
    const mark = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(text);
    if (fence !== null) {
      if (mark !== null && mark[2] === "" && mark[1]?.startsWith(fence.mark)) {
        fence = null;
        return DIM(text);
      }
      return fence.isDiff ? colourDiff(text) : text;
    }
    if (mark !== null) {
      fence = { mark: mark[1] ?? "", isDiff: mark[2] === "diff" };
      return DIM(text);
    }
    return wrapWords(block(text), columns, /^\s*(?:[-*+]|\d+\.) +/.exec(text)?.[0].replace(/\S/g, " ") ?? "");
  };

  /** Words of a sentence that is shown before its line is whole. */
  const flow = (text: string): string => {
    let out = "";
    for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
      if (column > 0 && column + visibleWidth(word.trimEnd()) > columns) {
        out = `${out.trimEnd()}\n`;
        column = 0;
      }
      out += word;
      column += visibleWidth(word);
    }
    return out;
  };
  const rest = (text: string): string => {
    if (column === 0) return line(text);
    const shown = flow(inline(text));
    column = 0;
    return shown;
  };

  return {
    /** The text that can be shown now; an incomplete line waits. */
    add(text: string): string {
      const lines = (pending + text).split("\n");
      pending = lines.pop() ?? "";
      const whole = lines.map((one) => `${rest(one)}\n`).join("");
      const ready = column > 0 || (fence === null && PLAIN.test(pending)) ? endOfWords(pending) : 0;
      const words = flow(pending.slice(0, ready));
      pending = pending.slice(ready);
      return whole + words;
    },
    /** The remaining text. */
    end(): string {
      const left = pending === "" ? "" : rest(pending);
      pending = "";
      fence = null;
      return left;
    },
  };
}

/** A sentence without any mark: it need not wait for its line to end. */
const PLAIN = /^[^\s#>*+`~|\d-][^`*[\]]*$/;

/** Up to the last word that is whole; an open mark of code or emphasis waits. */
function endOfWords(text: string): number {
  if (/[`*[\]]/.test(text)) return 0;
  if (/[.!?。！？]$/.test(text)) return text.length;
  return text.search(/\S*$/);
}

/** A whole text at once. */
export function renderMarkdown(text: string, columns?: number): string {
  const printer = createMarkdownPrinter(columns);
  return printer.add(text) + printer.end();
}

function block(text: string): string {
  const heading = /^ {0,3}#{1,6} +(.*)$/.exec(text);
  if (heading !== null) return BOLD(inline(heading[1] ?? ""));
  const item = /^(\s*)[-*+] +(.*)$/.exec(text);
  if (item !== null) return `${item[1]}• ${inline(item[2] ?? "")}`;
  const quote = /^ {0,3}> ?(.*)$/.exec(text);
  if (quote !== null) return DIM(`│ ${quote[1] ?? ""}`);
  return inline(text);
}

function inline(text: string): string {
  // Code first: nothing inside of it is emphasis.
  return text
    .split(/(`+[^`]+`+)/)
    .map((piece, at) =>
      at % 2 === 1
        ? CODE(piece.replace(/^`+|`+$/g, ""))
        : piece
            .replace(
              /\[([^\]]+)\]\((https?:[^)\s]+)\)/g,
              (_, name: string, url: string) => `${name} (${url})`,
            )
            .replace(/\*\*(\S(?:[^*]*\S)?)\*\*/g, (_, inner: string) => BOLD(inner))
            .replace(
              /(^|[^*\w])\*(\S(?:[^*]*\S)?)\*(?![*\w])/g,
              (_, lead: string, inner: string) => lead + ITALIC(inner),
            ),
    )
    .join("");
}
