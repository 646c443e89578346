import { ToolError } from "../../tool-result.ts";
import type { ApplyPatchErrorCode } from "./types.ts";

export class ApplyPatchError extends ToolError {
  constructor(code: ApplyPatchErrorCode, message: string, cause?: unknown) {
    super(code, message, {
      ...(code === "INVALID_ARGUMENT" && { reason: "arguments" as const }),
      ...(cause !== undefined && { cause }),
    });
    this.name = "ApplyPatchError";
  }
}

/** An unexpected error of git or the disk becomes INTERNAL; an expected end keeps its code. */
export function toInternalError(error: unknown): ToolError {
  if (error instanceof ToolError && error.code !== "REFUSED") return error;
  return new ApplyPatchError("INTERNAL", error instanceof Error ? error.message : String(error), error);
}
