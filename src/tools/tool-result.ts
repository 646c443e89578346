import type { Change } from "../domain/jobs/result.ts";

/** Which check ended a call. They run in this order: policy, write permission, path, then the tool itself. */
export type StopReason = "policy" | "write-permission" | "path" | "arguments" | "tool";

export type ToolErrorCode =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "FILE_TOO_LARGE"
  | "APPLY_FAILED"
  | "INTERNAL"
  // the checks before the tool
  | "UNKNOWN_TOOL"
  | "POLICY_DENIED"
  | "WRITE_DENIED"
  | "OUTSIDE_WORKSPACE"
  | "PROTECTED_FILE"
  | "ARGUMENT_TOO_LARGE"
  // what a tool finds
  | "IS_DIRECTORY"
  | "NOT_A_DIRECTORY"
  | "NOT_A_FILE"
  | "ALREADY_EXISTS"
  | "BINARY_FILE"
  | "UNSUPPORTED_ENCODING"
  | "MASKED_CONTENT"
  | "NO_MATCH"
  | "NOT_UNIQUE"
  | "NOTHING_TO_UNDO"
  | "NOT_A_REPOSITORY"
  | "CONFLICT"
  | "REFUSED"
  | "ABORTED"
  | "WRITE_FAILED";

/** The fields that accompany the data where a job was made. */
export interface JobFacts {
  readonly job_id: string;
  readonly changes: readonly Change[];
}

export type ToolSuccess<Data> = {
  readonly status: "success";
  /** Absent for a tool that returns nothing (`apply_patch`). */
  readonly data?: Data;
  /** Notes for the caller beside the data, including how to get the rest of a capped output. */
  readonly notes?: readonly string[];
} & Partial<JobFacts>;

export interface ToolFailure {
  /** `denied`: a rule forbids the call, and the same call will be denied again. */
  readonly status: "failure" | "denied";
  readonly reason: StopReason;
  readonly message: string;
  readonly error: { readonly code: ToolErrorCode };
}

/** The result of every call; nothing is thrown. */
export type ToolResult<Data = unknown> = ToolSuccess<Data> | ToolFailure;

export function failedResult(code: ToolErrorCode, message: string, reason: StopReason = "tool"): ToolFailure {
  return { status: "failure", reason, message, error: { code } };
}

export function deniedResult(code: ToolErrorCode, message: string, reason: StopReason): ToolFailure {
  return { status: "denied", reason, message, error: { code } };
}

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
