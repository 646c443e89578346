import type { StopReason, ToolErrorCode, ToolFailure } from "./tool-result.ts";

/** An expected end of a call, thrown inside a tool and made into an envelope at its edge. */
export class ToolError extends Error {
  constructor(
    readonly code: ToolErrorCode,
    message: string,
    readonly how: {
      readonly status?: ToolFailure["status"];
      readonly reason?: StopReason;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, how.cause === undefined ? undefined : { cause: how.cause });
    this.name = "ToolError";
  }
}
