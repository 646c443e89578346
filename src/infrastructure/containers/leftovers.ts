import type { ExecResult } from "../../application/ports/containers.ts";

export interface LeftoverDeps {
  readonly start: () => Promise<ExecResult>;
  /** Whether nothing else of ours runs there that a restart would end. */
  readonly isAlone: () => boolean;
  /** Ends all that runs in the container and keeps its files. */
  readonly restart: () => Promise<void>;
  readonly pause: (ms: number) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

const LEFTOVER_TRIES = 10;
const LEFTOVER_PAUSE_MS = 500;

/**
 * Starts a command also where what earlier ones left behind uses up every process: a fork bomb in the background. It may
 * pass, so the command is tried for a while; then the container is restarted, once.
 */
export async function startDespiteLeftovers(parts: LeftoverDeps): Promise<ExecResult> {
  let result = await parts.start();
  for (let i = 0; i < LEFTOVER_TRIES && isCrowded(result) && parts.isAlone(); i++) {
    if (parts.signal?.aborted) return result;
    await parts.pause(LEFTOVER_PAUSE_MS);
    result = await parts.start();
  }
  if (!isCrowded(result) || !parts.isAlone()) return result;
  await parts.restart();
  return parts.start();
}

function isCrowded({ outcome, failure }: ExecResult): boolean {
  return outcome === "not-started" && failure?.code === "no-resources";
}
