/** Every value in a template is escaped, unless it is the result of a template. Attribute values are in double quotes. */
class Markup {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

export type { Markup };
export type Piece = Markup | string | number | false | null | undefined | readonly Piece[];

export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  let text = strings[0] ?? "";
  for (const [n, piece] of pieces.entries()) text += render(piece) + (strings[n + 1] ?? "");
  return new Markup(text);
}

function render(piece: Piece): string {
  if (piece === null || piece === undefined || piece === false) return "";
  if (piece instanceof Markup) return piece.text;
  if (Array.isArray(piece)) return piece.map(render).join("");
  return escaped(String(piece));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => ENTITIES[character] as string);
}
