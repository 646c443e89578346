import type { CommandArgument, HereDoc, ParameterExpansionPart, Word, WordPart } from "unbash";
import type { ShellWord } from "../../domain/policy/commands-shell-script.ts";

export function shellWord(word: Word): ShellWord {
  return { text: word.text, value: (word.parts ?? []).every(isKnown) ? word.value : null };
}

/** `export A=b`: an assignment that is an argument is the word `A=b`. */
export function argumentWord(argument: CommandArgument): ShellWord {
  if (argument.type === "Word") return shellWord(argument);
  const { name, value, append, index } = argument;
  const known = value.type === "Word" && !append && !index ? shellWord(value).value : null;
  return { text: argument.text, value: known === null ? null : `${name}=${known}` };
}

/** Quoted delimiters keep the body as it is; in others a backslash before `$`, `` ` ``, `\` or a new line goes. */
export function bodyText(node: HereDoc): string | null {
  if (node.delimiter?.quoted) return node.body.text;
  if (!(node.body.parts ?? []).every(isKnown)) return null;
  return node.body.text.replace(/\\([$`\\]|\n)/g, (_, one: string) => (one === "\n" ? "" : one));
}

/** The words that a `${…}` holds. */
export function listWordParts(part: ParameterExpansionPart): Word[] {
  const words: (Word | undefined)[] = [part.index];
  const { operation } = part;
  if (operation && "operand" in operation) words.push(operation.operand);
  if (operation?.type === "Replace") words.push(operation.pattern, operation.replacement);
  if (operation?.type === "Slice") words.push(operation.offset, operation.length);
  return words.filter((word) => word !== undefined);
}

function isKnown(part: WordPart): boolean {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return true;
    case "DoubleQuoted":
    case "LocaleString":
      return part.parts.every(isKnown);
    default:
      return false;
  }
}
