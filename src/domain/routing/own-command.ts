import { type Route, readRoute } from "./route.ts";

/** What of a file's head counts for nothing: a route that nobody has, or lines that are no fields. */
export type OwnTrouble =
  | { readonly why: "route"; readonly route: string }
  | { readonly why: "unclosed" }
  | { readonly why: "line"; readonly line: string };

export interface OwnCommandText {
  readonly description: string;
  readonly route: Route | null;
  readonly body: string;
  readonly trouble: OwnTrouble | null;
}

const FRONT = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const DESCRIPTION_CHARACTERS = 200;

/** A file of Markdown with `description:` and `route:` between two lines of `---` at its beginning, or without. */
export function readOwnCommand(text: string): OwnCommandText {
  const front = FRONT.exec(text);
  const fields = new Map<string, string>();
  for (const line of (front?.[1] ?? "").split(/\r?\n/)) {
    const at = line.indexOf(":");
    if (at > 0) fields.set(line.slice(0, at).trim().toLowerCase(), unquoted(line.slice(at + 1).trim()));
  }
  const body = text.slice(front?.[0].length ?? 0).trim();
  const named = fields.get("route") ?? "";
  const route = readRoute(named) ?? null;
  const unknown = route === null && named !== "" ? ({ why: "route", route: named } as const) : null;
  return {
    description: (fields.get("description") ?? "").slice(0, DESCRIPTION_CHARACTERS),
    route,
    body,
    trouble: headTrouble(text, front?.[1]) ?? unknown,
  };
}

/** Skills of other programs have lists and folded texts in their heads: what is indented belongs to the line above. */
function headTrouble(text: string, head: string | undefined): OwnTrouble | null {
  if (head === undefined) return /^---[ \t]*\r?\n[ \t]*[\w-]+[ \t]*:/.test(text) ? { why: "unclosed" } : null;
  const broken = head.split(/\r?\n/).find((line) => !/^(?:\s|#|- |$)/.test(line) && !isField(line));
  return broken === undefined ? null : { why: "line", line: broken.slice(0, DESCRIPTION_CHARACTERS) };
}

function isField(line: string): boolean {
  const value = /^[^\s:][^:]*:(?:\s+(.*))?$/.exec(line);
  // A quote that is opened is closed.
  return value !== null && !/^(?:"[^"]*|'[^']*)$/.test(value[1]?.trim() ?? "");
}

function unquoted(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}

/** `$ARGUMENTS` is all that was typed, `$1` to `$9` its words; where the text has no place for it, it stands at the end. */
export function fillOwnCommand(body: string, rest: string): string {
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const hasPlace = /\$(?:ARGUMENTS\b|[1-9])/.test(body);
  // One pass: what was typed is never read for places again.
  const filled = body.replace(/\$(?:(ARGUMENTS)\b|([1-9]))/g, (_, all, n) =>
    all !== undefined ? rest : (words[Number(n) - 1] ?? ""),
  );
  return hasPlace || rest === "" ? filled : `${filled}\n\n${rest}`;
}

/** What a skill adds to a request: the request first, since that is what is to be done. */
export function withSkill(name: string, body: string, rest: string): string {
  return [rest, `# Skill: ${name}\n${body}`].filter((part) => part !== "").join("\n\n");
}
