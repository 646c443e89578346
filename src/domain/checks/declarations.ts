/** The declarations that a coder can make about tests and deciding files. */
export type DeclarationKind = "fixes" | "not-mine" | "removes" | "meant-to-fail" | "changes-checks";

/** One declared line: `text` is what follows the label, names and reason alike. */
export interface Declaration {
  readonly kind: DeclarationKind;
  readonly text: string;
}

/** A kind at the beginning of a line, plain, bold or in a list. These labels are a format, the same in every language. */
const LINE =
  /^[\s>*-]{0,20}(Fixes|Not mine|Removes|Meant to fail|Changes checks)\**[ \t]*[:：]\**[ \t]*(\S.*)$/i;
const LONGEST_LINE = 1000;
const MOST = 100;

/** The declarations of a plan, or of an agent's last message, in their order. */
export function readDeclarations(words: string): Declaration[] {
  return words
    .split("\n")
    .filter((line) => line.length <= LONGEST_LINE)
    .flatMap((line) => {
      const [, label, text = ""] = LINE.exec(line) ?? [];
      const kind = label?.toLowerCase().replaceAll(" ", "-") as DeclarationKind | undefined;
      return kind === undefined ? [] : [{ kind, text: text.trim() }];
    })
    .slice(0, MOST);
}

/** The words for people, who read the facts of the checks instead of the declarations. */
export function withoutDeclarations(words: string): string {
  const isOther = (line: string) => line.length > LONGEST_LINE || !LINE.test(line);
  return words.split("\n").filter(isOther).join("\n").trim();
}

/** The declaration about one test, check or file. */
export interface Declared {
  readonly kind: DeclarationKind;
  /** Empty where none is given. */
  readonly reason: string;
}

/** By target, which has several names: the test's, its file's, its command. A later line replaces an earlier one. */
export function resolveDeclarations(
  declarations: readonly Declaration[],
  targets: ReadonlyMap<string, readonly string[]>,
): Map<string, Declared> {
  const keys = new Map<string, string[]>();
  for (const [key, names] of targets)
    for (const name of new Set(names.map(withoutQuotes)))
      if (name !== "") keys.set(name, [...(keys.get(name) ?? []), key]);
  const longestFirst = [...keys.keys()].sort((a, b) => b.length - a.length);
  const declared = new Map<string, Declared>();
  for (const { kind, text } of declarations) {
    const { names, reason } = splitNames(withoutQuotes(text), longestFirst);
    for (const name of names) for (const key of keys.get(name) ?? []) declared.set(key, { kind, reason });
  }
  return declared;
}

function withoutQuotes(text: string): string {
  return text.replace(/[`"'“”「」]/g, "").trim();
}

/** After a name: the end, a comma before the next name, or a mark before the reason. */
const AFTER_NAME = /^(?:$|\s*[,、]\s*|\s*[:：;—–(（]\s*|\s+-\s+|\s+and\s+)/;

/** Names may contain colons and commas, so known names are taken off the beginning of the text one by one. */
function splitNames(
  text: string,
  known: readonly string[],
): { readonly names: string[]; readonly reason: string } {
  const names: string[] = [];
  let rest = text;
  for (;;) {
    const name = known.find((one) => rest.startsWith(one) && AFTER_NAME.test(rest.slice(one.length)));
    if (name === undefined) return { names, reason: names.length === 0 ? "" : rest.trim() };
    names.push(name);
    const [mark = ""] = AFTER_NAME.exec(rest.slice(name.length)) ?? [];
    rest = rest.slice(name.length + mark.length);
    if (!/[,、]|and/.test(mark)) return { names, reason: rest.trim() };
  }
}
