import { readCode } from "../../domain/texts/code-tokens.ts";
import { createStyle, inlineMarkdown, paintCode } from "./terminal-style.ts";
import { textWidth, wrapWords } from "./terminal-text.ts";

const STYLE = createStyle({ colour: true, ground: "dark" });
const { bold: BOLD, dim: DIM } = STYLE;

/** Streamed Markdown for a terminal. Sentences break between words at so many columns; code stays as it is. */
export function createMarkdownPrinter(columns = Number.POSITIVE_INFINITY) {
  let pending = "";
  /** Of the line that is shown in part. */
  let column = 0;
  let fence: { readonly mark: string; readonly language: string; open: string | null } | null = null;

  const line = (text: string): string => {
    const mark = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(text);
    if (fence !== null) {
      if (mark !== null && mark[2] === "" && mark[1]?.startsWith(fence.mark)) {
        fence = null;
        return DIM(text);
      }
      const code = readCode(text, fence.language, fence.open);
      fence.open = code.open;
      return paintCode(code.tokens, STYLE);
    }
    if (mark !== null) {
      fence = { mark: mark[1] ?? "", language: mark[2] ?? "", open: null };
      return DIM(text);
    }
    return wrapWords(block(text), columns, /^\s*(?:[-*+]|\d+\.) +/.exec(text)?.[0].replace(/\S/g, " ") ?? "");
  };

  /** Words of a sentence that is shown before its line is whole. */
  const flow = (text: string): string => {
    let out = "";
    for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
      if (column > 0 && column + textWidth(word.trimEnd()) > columns) {
        out = `${out.trimEnd()}\n`;
        column = 0;
      }
      out += word;
      column += textWidth(word);
    }
    return out;
  };
  const rest = (text: string): string => {
    if (column === 0) return line(text);
    const shown = flow(inlineMarkdown(text, STYLE));
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
  let end = text.length;
  while (end > 0 && text.charAt(end - 1).trim() !== "") end -= 1;
  return end;
}

/** A whole text at once. */
export function renderMarkdown(text: string, columns?: number): string {
  const printer = createMarkdownPrinter(columns);
  return printer.add(text) + printer.end();
}

function block(text: string): string {
  const heading = /^ {0,3}#{1,6} +(.*)$/.exec(text);
  if (heading !== null) return BOLD(inlineMarkdown(heading[1] ?? "", STYLE));
  const item = /^(\s*)[-*+] +(.*)$/.exec(text);
  if (item !== null) return `${item[1]}• ${inlineMarkdown(item[2] ?? "", STYLE)}`;
  const quote = /^ {0,3}> ?(.*)$/.exec(text);
  if (quote !== null) return DIM(`│ ${quote[1] ?? ""}`);
  return inlineMarkdown(text, STYLE);
}
