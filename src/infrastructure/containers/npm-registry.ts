import type { ProcessRunner } from "../../application/ports/process.ts";

export interface NpmRegistryDeps {
  readonly processes: ProcessRunner;
  /** The environment of npm: what finds programs, and npm's own settings. */
  readonly env: Readonly<Record<string, string>>;
  /** `command_executor.install.npm_registry`. */
  readonly configured: string | null;
}

const TIMEOUT_MS = 30_000;
const OUTPUT_BYTES = 64 * 1024;

/**
 * Where npm packages come from: the configuration says it, else npm of this machine. Null where neither does. npm is
 * asked in the root folder, so that no `.npmrc` of a workspace has a say.
 */
export function createNpmRegistry({ processes, env, configured }: NpmRegistryDeps) {
  return async (signal?: AbortSignal): Promise<string | null> => {
    if (configured !== null) return configured;
    const asked = await processes.runProcess({
      argv: ["npm", "config", "get", "registry"],
      cwd: "/",
      env,
      timeoutMs: TIMEOUT_MS,
      outputLimitBytes: OUTPUT_BYTES,
      jobMarker: "images",
      ...(signal !== undefined && { signal }),
    });
    const url = asked.stdout.trim();
    return asked.exitCode === 0 && /^https?:\/\/\S+$/.test(url) ? url : null;
  };
}
