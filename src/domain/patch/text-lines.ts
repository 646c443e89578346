/** A file's bytes text with its line starts; the unit everything is matched on. Lines are 0-based in here. */
export class TextLines {
  readonly text: string;
  /** Offset of every line, and the text's length as last element. */
  readonly starts: readonly number[];
  readonly count: number;
  private readonly loneCr: boolean;
  private texts: string[] | null = null;
  private dominant: string | null = null;

  /** `loneCr`: a carriage return alone ends a line as well (old Macintosh files, mixed files). */
  constructor(text: string, options: { readonly loneCr?: boolean } = {}) {
    this.text = text;
    this.loneCr = options.loneCr ?? false;
    this.starts = this.loneCr ? startsWithLoneCr(text) : lineStarts(text);
    this.count = this.starts.length - 1;
  }

  /** Without line ends. */
  lines(): readonly string[] {
    if (this.texts === null) {
      this.texts = new Array<string>(this.count);
      for (let i = 0; i < this.count; i++) {
        this.texts[i] = this.text.slice(this.starts[i]!, this.starts[i + 1]! - this.eol(i).length);
      }
    }
    return this.texts;
  }

  eol(line: number): string {
    const start = this.starts[line]!;
    const end = this.starts[line + 1]!;
    const last = end > start ? this.text.charCodeAt(end - 1) : 0;
    if (last === 13) return this.loneCr ? "\r" : "";
    if (last !== 10) return "";
    return end - 2 >= start && this.text.charCodeAt(end - 2) === 13 ? "\r\n" : "\n";
  }

  /** Whether a text ends with what ends a line of this file. */
  endsLine(text: string): boolean {
    return text.endsWith("\n") || (this.loneCr && text.endsWith("\r"));
  }

  /** The most frequent line end; on a tie the one that comes first. "" where no line has one. */
  mainEol(): string {
    if (this.dominant !== null) return this.dominant;
    const counts = new Map<string, number>();
    for (let i = 0; i < this.count; i++) {
      const eol = this.eol(i);
      if (eol !== "") counts.set(eol, (counts.get(eol) ?? 0) + 1);
    }
    let best = "";
    for (const [eol, count] of counts) if (best === "" || count > counts.get(best)!) best = eol;
    this.dominant = best;
    return best;
  }

  /** The line that starts at this offset, or -1. */
  lineAt(offset: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.starts[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return this.starts[low] === offset ? low : -1;
  }

  /** Some lines as they stand, for showing. */
  excerpt(line: number, count: number): string {
    return this.lines()
      .slice(line, line + count)
      .join("\n");
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

function startsWithLoneCr(text: string): number[] {
  const starts = [0];
  for (const found of text.matchAll(/\r\n|\n|\r/g)) starts.push(found.index + found[0].length);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}
