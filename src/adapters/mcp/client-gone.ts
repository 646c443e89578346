import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";

/**
 * The transport of HTTP does not tell a handler that the connection for its answer broke; the request's own facts
 * carry that signal to it.
 */
export function withConnection(gone: AbortSignal): AuthInfo {
  return { token: "", clientId: "bearer", scopes: [], extra: { gone } };
}

/** Aborted when the call was cancelled, its session closed, or its connection broke. */
export function clientGone(call: {
  readonly signal: AbortSignal;
  readonly authInfo?: AuthInfo | undefined;
}): AbortSignal {
  const gone = call.authInfo?.extra?.gone;
  return gone instanceof AbortSignal ? AbortSignal.any([call.signal, gone]) : call.signal;
}
