import type { ResolvedPath } from "../resolved-path.ts";

export interface ShownText {
  readonly text: string;
  readonly notes: readonly string[];
}

/**
 * A file's text as a caller may see it: secrets are masked, and in a protected file every value is. A text that was
 * changed so says it, since it must not be written back.
 */
export function maskShownText(
  { workspace, path, given }: Pick<ResolvedPath, "workspace" | "path" | "given">,
  text: string,
): ShownText {
  const isProtected = workspace.protection.protects(path) !== null;
  const masked = workspace.mask(isProtected ? maskValues(text) : text);
  if (masked === text) return { text, notes: [] };
  const what = isProtected ? "the values of this protected file" : "secrets";
  return { text: masked, notes: [`${given}: **** stands for ${what}; do not write it back`] };
}

/** `NAME=value`, `name: value` and `"name": "value"`: whatever the name says, the value goes. */
function maskValues(text: string): string {
  return text.replace(
    /^([ \t]*(?:export[ \t]+|set[ \t]+)?["']?[\w.$-]+["']?[ \t]*[=:][ \t]*)(\S.*?)(,?[ \t]*\r?)$/gm,
    (line, name: string, value: string, end: string) =>
      value === "{" || value === "[" || value === "****" ? line : `${name}****${end}`,
  );
}
