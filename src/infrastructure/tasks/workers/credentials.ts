import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { WorkerKind } from "./worker-kind.ts";

/** A login on this machine, as files for the container's HOME and variables for the CLI. */
export interface Credentials {
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  readonly env: Readonly<Record<string, string>>;
  readonly found: boolean;
}

export interface CredentialParts {
  /** The user's. */
  readonly home: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** What the task file gives the worker. */
  readonly workerEnv: Readonly<Record<string, string>>;
}

/** Files of a login are a few kilobytes. */
const MAX_BYTES = 1024 ** 2;

/**
 * The login's files where there are some, else the variables that stand in for one. The files are given
 * to the CLI as copies, because each of the three writes beside them or refreshes them; the user's own stay untouched.
 */
export function findCredentials(kind: WorkerKind, parts: CredentialParts): Credentials {
  const files = kind.credentials.flatMap(({ path, isLogin }) => {
    const bytes = readSmall(join(parts.home, path));
    return bytes === null ? [] : [{ path, bytes, isLogin }];
  });
  const hasLogin = files.some(({ isLogin }) => isLogin);
  const given = kind.keyVariables.filter((name) => parts.workerEnv[name] !== undefined);
  const env: Record<string, string> = {};
  if (!hasLogin && given.length === 0)
    for (const name of kind.keyVariables) {
      const value = parts.hostEnv[name];
      if (value !== undefined && value !== "") env[name] = value;
    }
  const found = hasLogin || Object.keys(env).length > 0 || Object.keys(parts.workerEnv).length > 0;
  return {
    files: files.map(({ path, bytes }) => ({ path, bytes })),
    env: { ...env, ...parts.workerEnv },
    found,
  };
}

function readSmall(path: string): Uint8Array | null {
  try {
    const stats = statSync(path);
    return stats.isFile() && stats.size <= MAX_BYTES ? readFileSync(path) : null;
  } catch {
    return null;
  }
}
