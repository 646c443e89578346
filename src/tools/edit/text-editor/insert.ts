import { toBytesText } from "../../../domain/patch/match/bytes.ts";
import type { Place } from "../../place.ts";
import { ToolError } from "../../tool-error.ts";
import type { Edited } from "./replace.ts";
import { toCrLf, usesCrLf } from "./text-of.ts";

/** Puts whole lines after line `after`; 0 is the beginning of the file. */
export function insertAfter({ given }: Place, text: string, after: number, inserted: string): Edited {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const ended = text === "" || text.endsWith("\n");
  const total = ended ? starts.length - 1 : starts.length;
  if (after > total)
    throw new ToolError("INVALID_ARGUMENT", `insert_line: ${given} has ${total} lines, got ${after}`, {
      reason: "arguments",
    });
  const crLf = usesCrLf(text);
  const eol = crLf ? "\r\n" : "\n";
  const own = toBytesText(inserted);
  const lines = crLf ? toCrLf(own) : own;
  const whole = lines === "" || lines.endsWith("\n") ? lines : `${lines}${eol}`;
  const at = after === total ? text.length : (starts[after] as number);
  const joint = after === total && !ended ? eol : "";
  return {
    text: `${text.slice(0, at)}${joint}${whole}${text.slice(at)}`,
    firstLine: after + 1,
    lines: whole.split("\n").length - 1,
  };
}
