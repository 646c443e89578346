import type { Config } from "./config.ts";
import defaults from "./defaults.json" with { type: "json" };

/**
 * What the schema yields for an empty file, written down by `scripts/gen-config-docs.ts`: a run without a file or a
 * variable needs neither zod nor yaml (30 ms each).
 */
export const DEFAULTS: Config = defaults as Config;
