/** Whether a text parses as what its path says, by the runtime's own parsers; null for a language that it does not read. */
export function parsesSource(path: string, text: string): boolean | null {
  const parse = PARSERS.find(([end]) => end.test(path))?.[1];
  if (parse === undefined) return null;
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

const PARSERS: readonly (readonly [RegExp, (text: string) => unknown])[] = [
  [/\.json$/i, (text) => JSON.parse(text)],
  [/\.[cm]?ts$/i, (text) => new Bun.Transpiler({ loader: "ts" }).transformSync(text)],
  [/\.(?:[cm]?js|[jt]sx)$/i, (text) => new Bun.Transpiler({ loader: "tsx" }).transformSync(text)],
  [/\.ya?ml$/i, (text) => Bun.YAML.parse(text)],
  [/\.toml$/i, (text) => Bun.TOML.parse(text)],
];
