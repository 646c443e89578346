/** Why a model gave no answer, as the model's port tells it. */
export type ModelFailureCode =
  | "unreachable"
  | "timeout"
  | "rate-limited"
  | "server-error"
  | "unauthorized"
  | "unknown-model"
  | "context-too-long"
  | "bad-request"
  | "cut-off"
  | "empty"
  | "malformed"
  | "aborted"
  | "no-key"
  | "not-configured"
  | "refused-remote"
  | "over-budget";

/** The same, and how an answer can be of no use though it came. */
export type ModelTrouble = ModelFailureCode | "cut-by-length" | "filtered" | "deadline";
