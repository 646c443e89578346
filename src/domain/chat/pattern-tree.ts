/** A regular expression as a tree, as far as its cost is concerned. */
export type PatternNode =
  /** One character of a set; `source` is a pattern of its own. */
  | { readonly type: "set"; readonly source: string }
  | { readonly type: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly type: "choice"; readonly options: readonly PatternNode[] }
  | { readonly type: "repeat"; readonly item: PatternNode; readonly min: number; readonly max: number }
  /** Looks ahead, takes nothing. */
  | { readonly type: "look"; readonly item: PatternNode }
  /** `^`, `$`, `\b`. */
  | { readonly type: "place" };

/** What rules do without: it makes a search costly in ways that cannot be told beforehand. */
export class UnsupportedPattern extends Error {}

/** Reads a pattern that `new RegExp(pattern, "u")` accepts. */
export function readPattern(pattern: string): PatternNode {
  const chars = [...pattern];
  const state = { at: 0 };
  const peek = (ahead = 0) => chars[state.at + ahead];
  const take = () => chars[state.at++] ?? "";
  const takeUntil = (end: string) => {
    let text = "";
    while (peek() !== undefined && peek() !== end) text += take();
    return text + take();
  };

  const choice = (): PatternNode => {
    const options = [sequence()];
    while (peek() === "|") {
      take();
      options.push(sequence());
    }
    return options.length === 1 ? options[0]! : { type: "choice", options };
  };
  const sequence = (): PatternNode => {
    const items: PatternNode[] = [];
    while (peek() !== undefined && peek() !== "|" && peek() !== ")") items.push(quantified(atom()));
    return items.length === 1 ? items[0]! : { type: "sequence", items };
  };
  const atom = (): PatternNode => {
    const char = take();
    switch (char) {
      case "(":
        return group();
      case "[":
        return { type: "set", source: `[${classBody()}` };
      case "^":
      case "$":
        return { type: "place" };
      case "\\":
        return escaped();
      default:
        return { type: "set", source: char };
    }
  };
  const group = (): PatternNode => {
    let look = false;
    if (peek() === "?") {
      take();
      const kind = take();
      if (kind === "=" || kind === "!") look = true;
      else if (kind === "<" && (peek() === "=" || peek() === "!"))
        throw new UnsupportedPattern("it looks behind");
      else if (kind === "<") takeUntil(">");
      else if (kind !== ":") takeUntil(":");
    }
    const item = choice();
    take();
    return look ? { type: "look", item } : item;
  };
  const classBody = (): string => {
    let body = "";
    while (peek() !== undefined && peek() !== "]") {
      const char = take();
      body += char === "\\" ? char + take() : char;
    }
    return body + take();
  };
  const escaped = (): PatternNode => {
    const char = take();
    if (char === "b" || char === "B") return { type: "place" };
    if (/[1-9k]/u.test(char)) throw new UnsupportedPattern("it refers back to what it matched");
    if ((char === "p" || char === "P" || char === "u") && peek() === "{")
      return { type: "set", source: `\\${char}${takeUntil("}")}` };
    const digits = char === "u" ? 4 : char === "x" ? 2 : char === "c" ? 1 : 0;
    let source = `\\${char}`;
    for (let i = 0; i < digits; i++) source += take();
    return { type: "set", source };
  };
  const quantified = (item: PatternNode): PatternNode => {
    const bounds = quantifier();
    if (bounds === undefined) return item;
    if (peek() === "?") take();
    return { type: "repeat", item, ...bounds };
  };
  const quantifier = (): { min: number; max: number } | undefined => {
    switch (peek()) {
      case "*":
        take();
        return { min: 0, max: Number.POSITIVE_INFINITY };
      case "+":
        take();
        return { min: 1, max: Number.POSITIVE_INFINITY };
      case "?":
        take();
        return { min: 0, max: 1 };
      case "{": {
        const [min = "", max = min] = takeUntil("}").slice(1, -1).split(",");
        return { min: Number(min), max: max === "" ? Number.POSITIVE_INFINITY : Number(max) };
      }
      default:
        return undefined;
    }
  };
  return choice();
}
