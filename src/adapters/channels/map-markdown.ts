export interface MarkdownMapping {
  readonly prose: (text: string) => string;
  /** Code in a line, with its marks. */
  readonly span: (text: string) => string;
  /** What is between two fences. */
  readonly block: (text: string) => string;
}

/** Markdown as replies are written: code apart from prose, so that marks in code stay what they are. */
export function mapMarkdown(text: string, { prose, span, block }: MarkdownMapping): string {
  return text
    .split(/(^(?:`{3,}|~{3,})[^\n]*\n[\s\S]*?^(?:`{3,}|~{3,}) *$|`[^`\n]+`)/m)
    .map((part, i) => {
      if (i % 2 === 0) return prose(part);
      const fenced = /^(?:`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n?^(?:`{3,}|~{3,}) *$/m.exec(part);
      return fenced === null ? span(part) : block(fenced[1] ?? "");
    })
    .join("");
}
