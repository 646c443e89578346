/** Since this version a client has an id to come back with from the first moment of a stream on. */
const RESUMABLE_SINCE = "2025-11-25";
const RESUME_MS = 10_000;

/** Whether the client of a session is still there, though its connections break and others take their place. */
export interface Connections {
  /** Aborted when the connection of this request broke and its client did not come back in time. */
  goneAfter(request: Request): AbortSignal;
  /** Its client came back with this request; calls whose connection broke go on. */
  resumed(request: Request): void;
  close(): void;
}

export function createConnections(resumeMs = RESUME_MS): Connections {
  /** Calls without a connection, each with how it follows another one. */
  const waiting = new Map<(next: AbortSignal) => void, ReturnType<typeof setTimeout>>();
  let latest: AbortSignal | null = null;

  function follow(connection: AbortSignal, gone: AbortController): void {
    const onBreak = () => {
      // The client may have come back before we noticed that it had gone.
      if (latest !== null && latest !== connection && !latest.aborted) return follow(latest, gone);
      const resume = (next: AbortSignal) => {
        clearTimeout(waiting.get(resume));
        waiting.delete(resume);
        follow(next, gone);
      };
      const giveUp = () => {
        waiting.delete(resume);
        gone.abort();
      };
      waiting.set(resume, setTimeout(giveUp, resumeMs));
    };
    if (connection.aborted) onBreak();
    else connection.addEventListener("abort", onBreak, { once: true });
  }

  return {
    goneAfter({ headers, signal }) {
      if ((headers.get("mcp-protocol-version") ?? "") < RESUMABLE_SINCE) return signal;
      const gone = new AbortController();
      follow(signal, gone);
      return gone.signal;
    },
    resumed({ signal }) {
      latest = signal;
      for (const resume of [...waiting.keys()]) resume(signal);
    },
    close() {
      for (const timer of waiting.values()) clearTimeout(timer);
      waiting.clear();
    },
  };
}
