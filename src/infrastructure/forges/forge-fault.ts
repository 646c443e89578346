import type { ForgeAnswer, ForgeFailure } from "../../application/ports/forges.ts";

/** A failure on its way through a client library, which may wrap it. */
export class ForgeFault extends Error {
  constructor(readonly failure: ForgeFailure) {
    super(failure.message, { cause: failure.cause });
    this.name = "ForgeFault";
  }
}

/** Runs calls of a client library; its faults become values, everything else is a bug and goes on. */
export async function answerForge<T>(calls: () => Promise<T>): Promise<ForgeAnswer<T>> {
  try {
    return { ok: true, value: await calls() };
  } catch (error) {
    const fault = findForgeFault(error);
    if (fault === null) throw error;
    return { ok: false, failure: fault.failure };
  }
}

/** Null for "there is no such thing". */
export async function nullIfMissing<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (findForgeFault(error)?.failure.code === "not-found") return null;
    throw error;
  }
}

export function findForgeFault(error: unknown): ForgeFault | null {
  if (error instanceof ForgeFault) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? null : findForgeFault(cause);
}
