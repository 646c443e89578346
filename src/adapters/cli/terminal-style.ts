import type { JobStatus } from "../../domain/jobs/result.ts";
import type { CodeToken } from "../../domain/texts/code-tokens.ts";

type Paint = (text: string) => string;

const COLOURS = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

/** How things look: letters in the sixteen colours of the user's own theme; only the grounds of a difference are fixed colours. */
export interface Style extends Readonly<Record<"bold" | "dim" | "italic" | keyof typeof COLOURS, Paint>> {
  readonly code: (text: string, kind: CodeToken["kind"] | undefined) => string;
  /** A row of a difference: its background reaches the edge without trailing spaces, so that a selection copies only the text. */
  readonly added: (pieces: readonly DiffPiece[]) => string;
  readonly removed: (pieces: readonly DiffPiece[]) => string;
}

/** A part of a changed line; `isChanged` within a line of which most stayed. */
export interface DiffPiece {
  readonly text: string;
  readonly isChanged: boolean;
  readonly kind?: CodeToken["kind"] | undefined;
}

/** Code in the colours of its strings, comments, numbers and keywords. */
export function paintCode(tokens: readonly CodeToken[], style: Style): string {
  return tokens.map(({ text, kind }) => style.code(text, kind)).join("");
}

/** Code first: nothing inside of it is emphasis. */
export function inlineMarkdown(text: string, style: Style): string {
  return text
    .split(/((?<!`)`+[^`]+`+)/)
    .map((piece, at) =>
      at % 2 === 1
        ? style.cyan(piece.replace(/^`+|`+$/g, ""))
        : piece
            .replace(
              /\[([^[\]]+)\]\((https?:[^)\s]{1,2000})\)/g,
              (_, name: string, url: string) => `${name} (${url})`,
            )
            .replace(/\*\*(\S(?:[^*]*\S)?)\*\*/g, (_, inner: string) => style.bold(inner))
            .replace(
              /(^|[^*\w])\*(\S(?:[^*]*\S)?)\*(?![*\w])/g,
              (_, lead: string, inner: string) => lead + style.italic(inner),
            ),
    )
    .join("");
}

type Env = Readonly<Record<string, string | undefined>>;

/** NO_COLOR with anything in it, and terminals that say they have none. */
export function wantsColour(env: Env, isTerminal: boolean): boolean {
  return isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
}

/** The background that a terminal states in its environment; dark if it states none. */
export function groundOf(env: Env): "dark" | "light" {
  const ground = Number(/;(\d+)$/.exec(env.COLORFGBG ?? "")?.[1] ?? "0");
  return ground === 7 || ground === 15 ? "light" : "dark";
}

const GROUNDS = {
  dark: {
    added: "22;48;2;18;52;28",
    addedWord: "48;2;36;98;52",
    removed: "22;48;2;62;24;28",
    removedWord: "48;2;118;42;48",
  },
  light: {
    added: "22;48;2;222;247;226",
    addedWord: "48;2;166;228;178",
    removed: "22;48;2;254;228;226",
    removedWord: "48;2;250;186;184",
  },
} as const;

const sgr = (on: number | string, off: number) => (text: string) =>
  text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;
const plain = (text: string) => text;

/** The look of what a command prints: colours only at a terminal that has them. */
export function styleFor({
  env,
  outIsTerminal,
}: {
  readonly env: Env;
  readonly outIsTerminal: boolean;
}): Style {
  return createStyle({ colour: wantsColour(env, outIsTerminal), ground: groundOf(env) });
}

interface Look {
  readonly colour: boolean;
  readonly ground: "dark" | "light";
}

export function createStyle({ colour, ground }: Look): Style {
  const base = { bold: sgr(1, 22), dim: colour ? sgr(2, 22) : plain, italic: sgr(3, 23) };
  const letters = Object.fromEntries(
    Object.entries(COLOURS).map(([name, on]) => [name, colour ? sgr(on, 39) : plain]),
  ) as Record<keyof typeof COLOURS, Paint>;
  const tones = {
    added: letters.green,
    removed: letters.red,
    place: letters.cyan,
    comment: base.dim,
    string: letters.cyan,
    number: letters.yellow,
    keyword: letters.magenta,
    plain,
  };
  const code = (text: string, kind: CodeToken["kind"] = "plain") => tones[kind](text);
  const row = (kind: "added" | "removed") => (pieces: readonly DiffPiece[]) => {
    if (!colour)
      return pieces.map(({ text, isChanged }) => (isChanged ? `\x1b[1;4m${text}\x1b[22;24m` : text)).join("");
    const [line, word] = [GROUNDS[ground][kind], GROUNDS[ground][`${kind}Word`]];
    const drawn = pieces.map(({ text, isChanged, kind: tone }) =>
      isChanged ? `\x1b[${word}m${code(text, tone)}\x1b[${line}m` : code(text, tone),
    );
    return `\x1b[${line}m${drawn.join("")}\x1b[K\x1b[0m`;
  };
  return { ...base, ...letters, code, added: row("added"), removed: row("removed") };
}

const SIGNS: Readonly<
  Record<JobStatus, readonly [colour: keyof Omit<Style, "code" | "added" | "removed">, sign: string]>
> = {
  applied: ["green", "✓"],
  partly: ["yellow", "✓"],
  "taken-back": ["yellow", "↶"],
  preview: ["blue", "◇"],
  "no-change": ["dim", "○"],
  running: ["cyan", "⠶"],
  stopped: ["dim", "■"],
  discarded: ["dim", "■"],
  worse: ["red", "✗"],
  unended: ["red", "✗"],
  refused: ["red", "✗"],
  interrupted: ["red", "✗"],
  unreadable: ["red", "✗"],
};

/** A word and a sign: colour alone says nothing. */
export function verdictSign(status: JobStatus, style: Style): string {
  const [colour, sign] = SIGNS[status];
  return style[colour](sign);
}
