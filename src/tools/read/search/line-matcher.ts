import { ToolError } from "../../tool-error.ts";

export interface LineMatcher {
  readonly matches: (line: string) => boolean;
  /** True where the pattern was read with Unicode rules; ripgrep reads only those alike. */
  readonly unicode: boolean;
}

/** JavaScript's regular expressions; with Unicode rules where the pattern allows it. */
export function createLineMatcher(pattern: string, ignoreCase: boolean): LineMatcher {
  const flags = ignoreCase ? "i" : "";
  for (const unicode of [true, false]) {
    try {
      const regExp = new RegExp(pattern, unicode ? `${flags}u` : flags);
      return { matches: (line) => regExp.test(line), unicode };
    } catch (cause) {
      if (!unicode)
        throw new ToolError("INVALID_ARGUMENT", `pattern: ${(cause as Error).message}`, {
          reason: "arguments",
          cause,
        });
    }
  }
  throw new Error("unreachable");
}
