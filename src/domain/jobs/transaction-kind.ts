/** How the changes of a job are staged; `none` stages nothing and runs in the workspace itself. */
export type TransactionKind = "direct" | "overlay" | "copy" | "none";

/** Why a transaction kind was chosen. */
export type TransactionReason =
  | "file-edits-only"
  | "configured"
  | "overlay-available"
  | "no-bubblewrap"
  | "no-user-namespaces"
  | "mount-below-workspace"
  | "foreign-group"
  | "not-linux"
  | "overlay-failed";

/** What a job cannot take back. */
export type NotCovered = "network" | "daemons" | "other-folders";
