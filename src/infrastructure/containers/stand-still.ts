import type { SandboxFailure } from "../../application/ports/containers.ts";
import type { Engine } from "./docker-engine.ts";

export interface FreezeDeps {
  readonly engine: Pick<Engine, "call">;
  readonly pause: (ms: number) => Promise<void>;
}

const FREEZE_TRIES = 20;
const FREEZE_PAUSE_MS = 25;
/** No further try changes these. */
const FINAL: ReadonlySet<SandboxFailure["code"]> = new Set([
  "container-missing",
  "container-stopped",
  "engine-unreachable",
  "engine-forbidden",
]);

/**
 * Pauses a container; true once it stands still. The engine hears of its own pauses late: a container that has just
 * gone on may count as paused for a moment, and is then not paused when it should be. So a refusal is not believed
 * before it was repeated.
 */
export async function freezeContainer({ engine, pause }: FreezeDeps, container: string): Promise<boolean> {
  let refusal = "";
  for (let tried = 0; tried < FREEZE_TRIES; tried++) {
    const answer = await engine.call({ method: "POST", path: `/containers/${container}/pause` });
    if (answer.ok) return true;
    if (FINAL.has(answer.code)) return false;
    refusal = answer.detail;
    await pause(FREEZE_PAUSE_MS);
  }
  return /is already paused/.test(refusal);
}

/** Lets a container go on. One that counts as running for a moment though it stands still is paused once more first. */
export async function thawContainer({ engine, pause }: FreezeDeps, container: string): Promise<void> {
  for (let tried = 0; tried < FREEZE_TRIES; tried++) {
    const answer = await engine.call({ method: "POST", path: `/containers/${container}/unpause` });
    if (answer.ok || FINAL.has(answer.code)) return;
    await pause(FREEZE_PAUSE_MS);
    if (/is not paused/.test(answer.detail))
      await engine.call({ method: "POST", path: `/containers/${container}/pause` });
  }
}
