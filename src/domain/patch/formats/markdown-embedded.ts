import type { PatchCommand } from "../command.ts";
import type { ParseFailure } from "../parse-error.ts";
import type { EmbeddedFormat } from "./markdown-marks.ts";

export type EmbeddedRead =
  | { readonly ok: true; readonly commands: readonly PatchCommand[] }
  | { readonly ok: false; readonly failure: ParseFailure };

/** Reads a patch of another format that stands in a reply, raw or in a fence. */
export function readEmbedded(format: EmbeddedFormat, _text: string): EmbeddedRead {
  return { ok: false, failure: { code: "not-a-patch", message: `${format} is not read yet` } };
}
