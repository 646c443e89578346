/** Why a path could not be read or written. */
export type FileTrouble =
  | "no-space"
  | "read-only"
  | "permission-denied"
  | "not-text"
  | "is-directory"
  | "not-directory"
  | "vanished"
  | "exists"
  | "not-found"
  | "busy"
  | "name-too-long";
