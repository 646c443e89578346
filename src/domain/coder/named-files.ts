/** Characters of a request that are searched for names. */
const SEARCHED = 20_000;
const MOST_NAMED = 12;

export interface NamedFile {
  readonly path: string;
  /** Lines that stand behind the name, as in a stack trace. */
  readonly lines: readonly number[];
}

/** Paths that the message names, whole, by their end or by their file name, in the order of the message. */
export function namedFiles(request: string, paths: readonly string[]): NamedFile[] {
  const text = request.slice(0, SEARCHED);
  const tokens = text.matchAll(/[\p{L}\p{N}_./@[\]()+-]*[\p{L}\p{N}_)\]](?::(\d{1,6}))?/gu);
  const found = new Map<string, Set<number>>();
  const known = new Map<string, readonly string[]>();
  for (const [token, line] of tokens) {
    for (const reading of readings(line === undefined ? token : token.slice(0, -line.length - 1))) {
      const matching = known.get(reading) ?? pathsCalled(reading, paths);
      known.set(reading, matching);
      for (const path of matching) {
        const lines = found.get(path) ?? new Set();
        if (line !== undefined) lines.add(Number(line));
        found.set(path, lines);
      }
    }
  }
  return [...found].slice(0, MOST_NAMED).map(([path, lines]) => ({ path, lines: [...lines] }));
}

/** None where too many are called so. */
function pathsCalled(name: string, paths: readonly string[]): string[] {
  if (paths.includes(name)) return [name];
  const ending = paths.filter((path) => path.endsWith(`/${name}`));
  return ending.length <= 3 ? ending : [];
}

/** A token is tried as written and without what Japanese and Markdown put around a name. */
function readings(token: string): string[] {
  const plain = token
    .replace(/^\((?!.*\))/, "")
    .replace(/^\.?\//, "")
    .replace(/[.,:;)\]]+$/, "");
  if (!/[./]/.test(plain) && !/^[A-Z][A-Za-z]+$/.test(plain)) return [];
  const ascii = /[\x21-\x7e]+\.[A-Za-z0-9]+/.exec(plain)?.[0];
  return ascii === undefined || ascii === plain ? [plain] : [plain, ascii];
}
