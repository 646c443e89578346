import { readableText, toBytesText } from "../../../domain/patch/patch-text.ts";
import { planEdit } from "../../../domain/patch/plan-edit.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import { ToolError } from "../../tool-error.ts";
import { lineAt, toCrLf, usesCrLf } from "./text-of.ts";

export interface EditedText {
  /** Bytes text. */
  readonly text: string;
  readonly firstLine: number;
  readonly lines: number;
}

const MOST_PLACES = 20;

/** Replaces the one place where `oldText` stands. None or several is an error that says where to look. */
export function replaceOnce(place: ResolvedPath, text: string, oldText: string, newText: string): EditedText {
  let [wanted, next] = [toBytesText(oldText), toBytesText(newText)];
  let places = occurrences(text, wanted);
  if (places.length === 0 && usesCrLf(text)) {
    [wanted, next] = [toCrLf(wanted), toCrLf(next)];
    places = occurrences(text, wanted);
  }
  const [at] = places;
  if (at === undefined) throw noMatch(place, text, oldText);
  if (places.length > 1) throw notUnique(place, text, places);
  return {
    text: `${text.slice(0, at)}${next}${text.slice(at + wanted.length)}`,
    firstLine: lineAt(text, at),
    lines: next.split("\n").length,
  };
}

/** Overlapping ones too: either could have been meant. */
function occurrences(text: string, wanted: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

function notUnique({ given }: ResolvedPath, text: string, places: readonly number[]): ToolError {
  const shown = places.slice(0, MOST_PLACES).map((at) => {
    const line = lineAt(text, at);
    return `${line}: ${readableText(lineText(text, at)).slice(0, 200)}`;
  });
  const more = places.length > MOST_PLACES ? `\n… and ${places.length - MOST_PLACES} more` : "";
  return new ToolError(
    "NOT_UNIQUE",
    `old_str occurs ${places.length} times in ${given}; add lines around it until it is unique:\n${shown.join("\n")}${more}`,
  );
}

function lineText(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const end = text.indexOf("\n", at);
  return text.slice(start, end < 0 ? text.length : end).replace(/\r$/, "");
}

/** Asks the patch engine where the text may have been meant; it only suggests. */
function noMatch({ given, path }: ResolvedPath, text: string, oldText: string): ToolError {
  const lines = toBytesText(oldText)
    .split("\n")
    .map((line) => ({ tag: "-" as const, text: line, eol: "\n" }));
  const plan = planEdit(
    { kind: "search-replace", path, hunk: { lines } },
    { look: () => ({ kind: "file", bytes: Buffer.from(text, "latin1"), mode: 0o644 }) },
    { inflate: (data) => data },
  );
  const candidates = plan.reports.flatMap((report) => report.candidates ?? []);
  const hint =
    candidates.length > 0
      ? `; did you mean:\n${candidates.map(({ line, text: there }) => `${line}: ${there}`).join("\n")}`
      : plan.ok
        ? "; it stands there with other white space: copy it exactly from a view"
        : "";
  return new ToolError("NO_MATCH", `old_str does not occur in ${given}${hint}`);
}
