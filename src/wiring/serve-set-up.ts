import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { WebHost } from "../adapters/web/host.ts";
import { createSetUpSteps } from "../application/setup/setup-steps.ts";
import { homeConfigFile } from "../config/home.ts";
import { loadConfig } from "../config/load.ts";
import { isOwnVariable } from "../config/usual-variables.ts";
import type { ServeDeps } from "./serve-parts.ts";

/** The steps of `init` for the console, while there is no configuration. */
export function createFirstSetUp(
  { env, options, home, onTrouble }: ServeDeps,
  reload: () => Promise<string | null>,
): WebHost["setUp"] {
  const { demo, ...place } = options;
  const file =
    options.configFile === undefined ? homeConfigFile(home) : resolve(options.cwd, options.configFile);
  return {
    async isNeeded() {
      if (demo || existsSync(file)) return false;
      const loaded = await loadConfig({ env, ...place });
      if (!loaded.ok) return false;
      const chosen = Object.entries(loaded.sources).filter(
        ([, source]) => source.kind !== "environment" || isOwnVariable(source),
      );
      return !chosen.some(([key]) => /^(?:roles|providers)\./.test(key));
    },
    steps: createSetUpSteps({
      open: async () => (await import("./set-up.ts")).openSetUp(env, { ...place, anew: false }),
      reload,
      onTrouble,
    }),
  };
}
