import { isAscii, toBytesText } from "../../patch-text.ts";
import { lineAfter, lineAt } from "../../line-offsets.ts";

/** The text of a diff, gone through by offset. Only what is read for good is turned into bytes text. */
export class DiffText {
  readonly text: string;
  private readonly inBytes: boolean;

  constructor(input: string | Uint8Array) {
    this.text = typeof input === "string" ? input : toBytesText(input);
    this.inBytes = typeof input !== "string" || isAscii(input);
  }

  after(at: number): number {
    return lineAfter(this.text, at);
  }

  startsWith(start: string, at: number): boolean {
    return this.text.startsWith(start, at);
  }

  /** The line at `at` as bytes text, without its line feed. */
  line(at: number): string {
    const line = lineAt(this.text, at);
    return this.inBytes ? line : toBytesText(line);
  }

  bytesText(from: number, end: number): string {
    const part = this.text.slice(from, end);
    return this.inBytes ? part : toBytesText(part);
  }
}
