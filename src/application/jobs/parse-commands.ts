import type { ParseResult } from "../../domain/patch/parse-error.ts";
import { tryJsonPatch } from "../../domain/patch/formats/parse-json-patch.ts";

/** The other formats are loaded when a patch is in one of them. */
export async function parseCommands(patch: string): Promise<ParseResult> {
  const tried = tryJsonPatch(patch);
  return tried.result ?? (await import("../../domain/patch/parse-patch.ts")).parseAfterJson(tried);
}
