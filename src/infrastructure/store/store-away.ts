const AWAY_SYSTEM_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);
/** Connection exceptions, and a server that starts, ends, recovers or has no connection left. */
const AWAY_SERVER_STATES = /^(08\w{3}|57P0[1-5]|53300)$/;
/** What the driver says of a connection without a code. */
const AWAY_DRIVER_TEXT =
  /^Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect/;

/** Whether a statement failed because the database cannot be reached now: asked again later, it may well succeed. */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as Error & { readonly code?: unknown; readonly syscall?: unknown };
  if (typeof code !== "string") return AWAY_DRIVER_TEXT.test(error.message);
  // A socket that is not there.
  return (
    AWAY_SYSTEM_CODES.has(code) ||
    AWAY_SERVER_STATES.test(code) ||
    (code === "ENOENT" && syscall === "connect")
  );
}
