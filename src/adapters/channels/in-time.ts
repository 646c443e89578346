/** The result of a call, or a rejection as soon as the signal aborts: some clients do not support signals. */
export async function inTime<T>(call: Promise<T>, signal: AbortSignal, tooLate: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const end = () => late.reject(new Error(tooLate));
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([call, late.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
