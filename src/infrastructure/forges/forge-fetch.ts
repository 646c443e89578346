import type { ForgeFailure } from "../../application/ports/forges.ts";
import { ForgeFault } from "./forge-fault.ts";
import { responseFailure } from "./response-failure.ts";

export interface ForgeFetchDeps {
  readonly fetch: typeof fetch;
  /** One try. */
  readonly timeoutMs: number;
  /** The longest single wait for a rate limit; a longer one is a failure that says how long. */
  readonly patienceMs: number;
  readonly now: () => number;
  /** Resolves after the time, rejects when aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Told before a wait, so that a person can be told. */
  readonly onWait?: (failure: ForgeFailure, waitMs: number) => void;
}

export type ForgeFetch = (request: Request, signal: AbortSignal) => Promise<Response>;

const READ_RETRY_MS = [500, 2000];
const LIMIT_WAITS = 3;

/**
 * `fetch` as both client libraries use it: every try has a time limit, a rate limit is waited for as told, a read
 * is tried again on a server's or the network's error. What is left is thrown as a `ForgeFault`. A write is not
 * tried again: it may have been done.
 */
export function createForgeFetch(parts: ForgeFetchDeps): ForgeFetch {
  return async (request, signal) => {
    let retries = 0;
    for (let waits = 0; ; ) {
      const tried = await fetchOnce(parts, request, signal);
      if (tried instanceof Response) return tried;
      const wait = waitBefore(tried, request.method, { waits, retries }, parts.patienceMs);
      if (wait === null) throw new ForgeFault(tried);
      if (tried.code === "rate-limited") waits++;
      else retries++;
      parts.onWait?.(tried, wait);
      try {
        await parts.pause(wait, signal);
      } catch (cause) {
        throw new ForgeFault({ code: "aborted", message: "aborted", cause });
      }
    }
  };
}

async function fetchOnce(
  { fetch, timeoutMs, now }: ForgeFetchDeps,
  request: Request,
  signal: AbortSignal,
): Promise<Response | ForgeFailure> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(request.clone() as Request, { signal: AbortSignal.any([signal, timeout]) });
    // 304 and the like are not asked for; a redirect was followed.
    return response.ok ? response : responseFailure(response, await response.text(), now());
  } catch (cause) {
    if (signal.aborted) return { code: "aborted", message: "aborted", cause };
    const host = new URL(request.url).host;
    if (timeout.aborted)
      return { code: "timeout", message: `${host} did not answer within ${timeoutMs / 1000} s`, cause };
    return { code: "unreachable", message: `${host}: ${(cause as Error).message}`, cause };
  }
}

/** Null when there is nothing to wait for. */
function waitBefore(
  failure: ForgeFailure,
  method: string,
  { waits, retries }: { readonly waits: number; readonly retries: number },
  patienceMs: number,
): number | null {
  if (failure.code === "rate-limited") {
    const wait = Math.max(failure.retryAfterMs ?? 60_000, 1000);
    return waits < LIMIT_WAITS && wait <= patienceMs ? wait : null;
  }
  const passes =
    failure.code === "server-error" || failure.code === "unreachable" || failure.code === "timeout";
  return passes && method === "GET" ? (READ_RETRY_MS[retries] ?? null) : null;
}
