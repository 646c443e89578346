import { z } from "zod";
import type { ApplyPatchInput } from "./types.ts";

/** The texts are public; a test pins them. */
export const applyPatchInput = z.strictObject({
  filePath: z.string().describe("Target file path"),
  patch: z.string().describe("Unified diff content"),
});

/** Beyond the types, only an empty path is refused. */
export function validateApplyPatch({ filePath }: ApplyPatchInput): string | null {
  return filePath === "" ? "filePath: must not be empty" : null;
}
