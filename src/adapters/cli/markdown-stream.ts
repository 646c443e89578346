import { type CodeToken, readCode } from "../../domain/texts/code-tokens.ts";
import type { Block } from "./live-screen.ts";
import { visibleWidth, wrapColumns } from "./terminal-pi.ts";
import { inlineMarkdown, paintCode, type Style } from "./terminal-style.ts";

type StyleOf = () => Style;

/** Markdown as a model writes it, in blocks: a line is final when its end has come, a table when it has ended. */
export function createMarkdownStream(style: StyleOf) {
  let pending = "";
  let table: string[] = [];
  let fence: { readonly mark: string; readonly language: string; open: string | null } | null = null;

  function takeLine(line: string): Block[] {
    const mark = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(line);
    if (fence !== null) {
      if (mark !== null && mark[2] === "" && mark[1]?.startsWith(fence.mark)) {
        fence = null;
        return [];
      }
      const code = readCode(line, fence.language, fence.open);
      fence.open = code.open;
      return [codeBlock(code.tokens, style)];
    }
    if (TABLE_ROW.test(line)) {
      table.push(line);
      return [];
    }
    const before = endTable();
    if (mark !== null) {
      fence = { mark: mark[1] ?? "", language: mark[2] ?? "", open: null };
      return before;
    }
    return [...before, textBlock(line, style)];
  }

  function endTable(): Block[] {
    if (table.length === 0) return [];
    const rows = table;
    table = [];
    return [tableBlock(rows, style)];
  }

  return {
    /** Blocks that are final by now. However the text is cut into pieces, the same blocks come out. */
    add(text: string): readonly Block[] {
      const lines = (pending + text).split("\n");
      pending = lines.pop() ?? "";
      return lines.flatMap(takeLine);
    },
    /** The block that is open. */
    live(columns: number): readonly string[] {
      const open = pending.trimEnd();
      const rows = table.length > 0 ? tableBlock(table, style).render(columns) : [];
      if (open === "" || /^ {0,3}(?:`{1,}|~{3,})[^`]*$/.test(open)) return rows;
      const block =
        fence === null
          ? textBlock(open, style)
          : codeBlock(readCode(open, fence.language, fence.open).tokens, style);
      return [...rows, ...block.render(columns)];
    },
    end(): readonly Block[] {
      const last = pending === "" ? [] : takeLine(pending);
      pending = "";
      const all = [...last, ...endTable()];
      fence = null;
      return all;
    },
  };
}

const TABLE_ROW = /^\s*\|.*\|\s*$/;

/** A whole text at once. */
export function markdownBlocks(text: string, style: StyleOf): readonly Block[] {
  const stream = createMarkdownStream(style);
  return [...stream.add(text), ...stream.end()];
}

/** Rows broken between words, further ones below the first word. */
function textBlock(line: string, style: StyleOf): Block {
  return {
    render(columns) {
      const { hang, text } = styleLine(line, style());
      if (visibleWidth(text) <= columns) return [text];
      const [first = "", ...rest] = wrapColumns(text, columns - hang);
      if (hang === 0) return [first, ...rest];
      // The first row has its mark in front, so that all of it is wrapped at the narrower width.
      return [first, ...rest.map((row) => `${" ".repeat(hang)}${row.trimStart()}`)];
    },
  };
}

function styleLine(line: string, style: Style): { readonly hang: number; readonly text: string } {
  const heading = /^ {0,3}#{1,6} +(.*?)#*$/.exec(line);
  if (heading !== null) return { hang: 0, text: style.bold(inlineMarkdown(heading[1] ?? "", style)) };
  if (/^ {0,3}(?:[-*_] *){3,}$/.test(line)) return { hang: 0, text: style.dim("─".repeat(20)) };
  const item = /^(\s*)(?:[-*+]|(\d+[.)])) +(.*)$/.exec(line);
  if (item !== null) {
    const [, lead = "", number, rest = ""] = item;
    const mark = `${lead}${number ?? "•"} `;
    const box = /^\[([ xX])\] (.*)$/.exec(rest);
    const words = box === null ? rest : `${box[1] === " " ? "☐" : "☑"} ${box[2]}`;
    return { hang: visibleWidth(mark), text: `${mark}${inlineMarkdown(words, style)}` };
  }
  const quote = /^ {0,3}> ?(.*)$/.exec(line);
  if (quote !== null) return { hang: 2, text: style.dim(`│ ${quote[1] ?? ""}`) };
  return { hang: 0, text: inlineMarkdown(line, style) };
}

/** Two blanks before it and nothing else: what is copied is what was written. */
function codeBlock(tokens: readonly CodeToken[], style: StyleOf): Block {
  return {
    render(columns) {
      const coloured = paintCode(tokens, style());
      return visibleWidth(coloured) + 2 <= columns
        ? [`  ${coloured}`]
        : wrapColumns(coloured, columns - 2).map((row) => `  ${row}`);
    },
  };
}

const GAP = 2;

/** Columns below each other without lines; cells wrap where they do not fit, the widest column first. */
function tableBlock(lines: readonly string[], style: StyleOf): Block {
  const rows = lines.map((line) =>
    line
      .trim()
      .replace(/^\||\|$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll("\\|", "|")),
  );
  const rule = rows.findIndex((row) => row.every((cell) => /^:?-+:?$/.test(cell)));
  const shown = rows.filter((_, at) => at !== rule);
  return {
    render(columns) {
      const look = style();
      const count = Math.max(0, ...shown.map((row) => row.length));
      const cells = shown.map((row, at) =>
        Array.from({ length: count }, (_, column) => {
          const words = inlineMarkdown(row[column] ?? "", look);
          return rule > 0 && at === 0 ? look.bold(words) : words;
        }),
      );
      const widths = fitWidths(cells, count, columns);
      return cells.flatMap((row) => {
        const wrapped = row.map((cell, column) => wrapColumns(cell, widths[column] ?? 1));
        const height = Math.max(1, ...wrapped.map((one) => one.length));
        return Array.from({ length: height }, (_, line) =>
          wrapped
            .map((one, column) => {
              const text = one[line] ?? "";
              return text + " ".repeat(Math.max(0, (widths[column] ?? 0) - visibleWidth(text)));
            })
            .join(" ".repeat(GAP))
            .trimEnd(),
        );
      });
    },
  };
}

function fitWidths(cells: readonly (readonly string[])[], count: number, columns: number): number[] {
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(1, ...cells.map((row) => visibleWidth(row[column] ?? ""))),
  );
  let over = widths.reduce((sum, width) => sum + width, 0) + GAP * Math.max(0, count - 1) - columns;
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= 4) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  return widths;
}
