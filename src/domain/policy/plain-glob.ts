/** Whether a pattern holds nothing special but single `*`. In `*.*` picomatch wants something after the dot. */
export function isPlainGlob(pattern: string): boolean {
  return (
    /^[\w .*@%,~-]+$/.test(pattern) && !pattern.includes("**") && !/^([.]{1,2}|[*][.][*])$/.test(pattern)
  );
}

/** What picomatch makes of a plain pattern with `dot`: `*` is any run within a name. */
export function compilePlainGlob(
  pattern: string,
  { caseInsensitive }: { readonly caseInsensitive: boolean },
): (text: string) => boolean {
  const source = pattern.replace(/[.]/g, "\\.").replace(/\*/g, "[^/]*?");
  const matcher = new RegExp(`^${source}$`, caseInsensitive ? "i" : "");
  return (text) => text !== "." && text !== ".." && matcher.test(text);
}
