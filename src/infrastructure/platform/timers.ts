/** Waits; an abort ends it early, without a word. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve: done } = Promise.withResolvers<void>();
  if (signal.aborted) return Promise.resolve();
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end, { once: true });
  function end() {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    done();
  }
  return promise;
}
