import { DONE, failure, type LibcResult, libc, UNSUPPORTED } from "./libc.ts";

export type LockMode = "shared" | "exclusive";
export type TryLockResult = LibcResult | { readonly ok: false; readonly reason: "busy" };

export type LockResult = LibcResult | { readonly ok: false; readonly reason: "timed-out" | "aborted" };

export interface LockWait {
  /** Default: wait for ever. 0 tries once. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called after each try that failed. */
  readonly onBusy?: () => void;
}

const OPERATION = { shared: 1, exclusive: 2 } as const;
const NON_BLOCKING = 4;
const FIRST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 50;

/** One attempt. The lock belongs to the open file, not to the process: two opens of one file exclude each other. */
export function tryFlock(fd: number, mode: LockMode): TryLockResult {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  if (lib.c.flock(fd, OPERATION[mode] | NON_BLOCKING) === 0) return DONE;
  const failed = failure(lib);
  if (failed.reason === "failed" && (failed.code === "EAGAIN" || failed.code === "EWOULDBLOCK")) {
    return { ok: false, reason: "busy" };
  }
  return failed;
}

/**
 * Waits for the lock without blocking the event loop: short tries with growing pauses. Not fair: a
 * later asker may win. Released by closing the file, or by the death of the process.
 */
export async function flock(fd: number, mode: LockMode, wait: LockWait = {}): Promise<LockResult> {
  const deadline = performance.now() + (wait.timeoutMs ?? Number.POSITIVE_INFINITY);
  for (let pause = FIRST_WAIT_MS; ; pause = Math.min(pause * 2, LONGEST_WAIT_MS)) {
    if (wait.signal?.aborted) return { ok: false, reason: "aborted" };
    const tried = tryFlock(fd, mode);
    if (tried.ok) return tried;
    if (tried.reason === "failed" && tried.code === "EINTR") continue;
    if (tried.reason !== "busy") return tried;
    const left = deadline - performance.now();
    if (left <= 0) return { ok: false, reason: "timed-out" };
    wait.onBusy?.();
    await pauseOrAbort(Math.min(pause, left), wait.signal);
  }
}

function pauseOrAbort(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
