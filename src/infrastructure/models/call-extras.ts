/**
 * What a provider wants back with a tool call that the port does not carry: a signature, a thought. Kept by the call's
 * id in this process; the oldest go first. A conversation taken up in another process is sent without.
 */
export interface CallExtras {
  keep(callId: string, what: string): void;
  get(callId: string): string | undefined;
}

const MOST = 256;

export function createCallExtras(): CallExtras {
  const kept = new Map<string, string>();
  return {
    keep: (callId, what) => {
      kept.set(callId, what);
      const [oldest] = kept.keys();
      if (kept.size > MOST && oldest !== undefined) kept.delete(oldest);
    },
    get: (callId) => kept.get(callId),
  };
}
