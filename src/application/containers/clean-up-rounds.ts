import type { Config } from "../../config/config.ts";
import { EnvironmentError } from "./environment-error.ts";

export interface CleanUpScheduleDeps {
  /** As it is now: environments may be switched on while this runs. */
  readonly config: () => Pick<Config["command_executor"], "enabled" | "cleanup">;
  /** One clean-up. */
  readonly cleanUp: () => Promise<void>;
  readonly onTrouble: (error: unknown) => void;
}

const HOUR_MS = 3_600_000;
const LONGEST_MS = 20 * 24 * HOUR_MS;

/** Containers that were left behind go at the start and on an interval. The answer stops it. */
export function scheduleCleanUp({ config, cleanUp, onTrouble }: CleanUpScheduleDeps): () => void {
  const state: { timer?: ReturnType<typeof setTimeout>; stopped: boolean } = { stopped: false };
  const round = () => {
    void (config().enabled ? cleanUp() : Promise.resolve())
      .catch((error) => onTrouble(error instanceof EnvironmentError ? `Docker: ${error.message}` : error))
      .finally(() => {
        if (state.stopped) return;
        state.timer = setTimeout(round, Math.min(config().cleanup.interval_hours * HOUR_MS, LONGEST_MS));
        state.timer.unref();
      });
  };
  round();
  return () => {
    state.stopped = true;
    clearTimeout(state.timer);
  };
}
