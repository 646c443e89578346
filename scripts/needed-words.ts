/** Texts of which a match contains one; null where a pattern can match without any. */
type Words = readonly string[] | null;

/**
 * The words of a rule's pattern without one of which it matches nothing, in lower case. Of parts in a row the one with the
 * longest words speaks for all; of alternatives, all together. The pattern is one that `findCatastrophe` accepts.
 */
export function findNeededWords(pattern: string): Words {
  const chars = [...pattern];
  let at = 0;

  function choice(): Words {
    const options = [sequence()];
    while (chars[at] === "|") {
      at++;
      options.push(sequence());
    }
    return options.every((option) => option !== null) ? [...new Set(options.flat())] : null;
  }

  function sequence(): Words {
    const parts: Words[] = [];
    let run = "";
    const endRun = () => {
      if (run !== "") parts.push([run]);
      run = "";
    };
    while (at < chars.length && chars[at] !== "|" && chars[at] !== ")") {
      const { literal, words } = atom();
      const times = quantifier();
      if (literal !== null && times === null) {
        run += literal;
        continue;
      }
      endRun();
      if (times !== 0) parts.push(literal === null ? words : [literal]);
    }
    endRun();
    return parts.reduce((best, words) => (reach(words) > reach(best) ? words : best), null);
  }

  function atom(): { literal: string | null; words: Words } {
    const char = chars[at++] as string;
    switch (char) {
      case "(": {
        const look = /^\?[=!]/.test(chars.slice(at, at + 2).join(""));
        if (chars[at] === "?") at += 2;
        const words = choice();
        at++;
        return { literal: null, words: look ? null : words };
      }
      case "[":
        while (chars[at] !== "]") at += chars[at] === "\\" ? 2 : 1;
        at++;
        return { literal: null, words: null };
      case "\\": {
        const escaped = chars[at++] as string;
        return { literal: /[\w]/.test(escaped) ? null : escaped, words: null };
      }
      case "^":
      case "$":
      case ".":
        return { literal: null, words: null };
      default:
        return { literal: char.toLowerCase(), words: null };
    }
  }

  /** The least number of times, or null without a quantifier. */
  function quantifier(): number | null {
    const found = /^(?:[*?]|\+|\{(\d+)(?:,\d*)?\})\??/.exec(chars.slice(at, at + 12).join(""));
    if (found === null) return null;
    at += found[0].length;
    return found[0].startsWith("{") ? Number(found[1]) : found[0].startsWith("+") ? 1 : 0;
  }

  return choice();
}

/** How well words tell: by the shortest of them. */
function reach(words: Words): number {
  return words === null ? 0 : Math.min(...words.map(({ length }) => length));
}
