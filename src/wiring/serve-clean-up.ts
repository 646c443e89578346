import { EnvironmentError } from "../application/environments/environment-error.ts";
import type { OpenOptions } from "../application/ports/opening.ts";
import type { Config } from "../config/config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface CleanUpParts {
  readonly env: Environment;
  readonly options: OpenOptions;
  /** As it is now: environments may be switched on while this runs. */
  readonly config: () => Config["command_executor"];
  readonly onTrouble: (error: unknown) => void;
}

const HOUR_MS = 3_600_000;
const LONGEST_MS = 20 * 24 * HOUR_MS;

/** Containers that were left behind go at the start and on an interval. The answer stops it. */
export function startCleanUp({ env, options, config, onTrouble }: CleanUpParts): () => void {
  const state: { timer?: ReturnType<typeof setTimeout>; stopped: boolean } = { stopped: false };
  const cleanUp = async () => {
    if (!config().enabled) return;
    const { openEnvironments } = await import("./environments.ts");
    const opened = await openEnvironments(env, options);
    if (!opened.ok) return;
    try {
      await opened.environments.manager.cleanupStaleContainers();
    } finally {
      await opened.environments.close();
    }
  };
  const round = () => {
    void cleanUp()
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
