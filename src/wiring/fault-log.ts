import { statSync } from "node:fs";
import { join } from "node:path";
import { resolveHome } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { createMasker } from "../domain/platform/mask.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import type { Environment } from "./services.ts";

/** Writes an error that the program did not expect to the log, with its stack. Returns the log's place; null where it cannot be written. */
export async function logFault(env: Environment, cwd: string, error: unknown): Promise<string | null> {
  const loaded = await loadConfig({ env, cwd }).catch(() => null);
  const [home, file] = loaded?.ok ? [loaded.home, loaded.config.log.file] : [resolveHome(env), null];
  const { mask } = createMasker({ secrets: loaded?.ok ? loaded.secrets.values() : [] });
  const place = file ?? join(home, "logs", "picoclaw.log");
  const size = () => statSync(place, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const before = size();
    const log = createLineLogger({ home, file, level: "error", mask });
    log.error("program", "unexpected error", "program.fault", { error });
    // A log that grew too large was put aside, and is smaller now.
    return size() === before ? null : place;
  } catch {
    return null;
  }
}
