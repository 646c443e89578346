import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { WorkerKind } from "./worker-kinds/worker-kind.ts";

/** What a CLI proves itself with: files for the container's HOME, variables, and keys that only their stand-ins are of. */
export interface Credentials {
  /** Where the files come from. */
  readonly home: string;
  readonly files: readonly CopiedFile[];
  /** Keys are stand-ins here. */
  readonly env: Readonly<Record<string, string>>;
  /** The key behind each stand-in. */
  readonly keys: ReadonlyMap<string, string>;
  readonly found: boolean;
}

export interface CopiedFile {
  /** From the home. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** A login that whoever reads the file can use. */
  readonly isLogin: boolean;
}

export interface CredentialDeps {
  /** The user's. */
  readonly home: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** What the task file gives the worker. */
  readonly workerEnv: Readonly<Record<string, string>>;
  /** For tests. */
  readonly newStandIn?: () => string;
}

/** Files of a login are a few kilobytes, and few. */
const MAX_BYTES = 1024 ** 2;
const MAX_TOTAL = 8 * MAX_BYTES;
const MAX_DEPTH = 4;

/**
 * The login's files where there are some, else the variables that stand in for one. The files are given
 * to the CLI as copies, because each of the three writes beside them or refreshes them. A key never goes along: the CLI
 * gets a stand-in, and a proxy outside of the container puts the key in its place.
 */
export function findCredentials(kind: WorkerKind, parts: CredentialDeps): Credentials {
  const { workerEnv, hostEnv, newStandIn = makeStandIn } = parts;
  const keys = new Map<string, string>();
  const hide = (key: string) => {
    const known = [...keys].find(([, value]) => value === key)?.[0];
    const stand = known ?? newStandIn();
    keys.set(stand, key);
    return stand;
  };
  const files = filesOf(kind, parts.home).map((file) => withoutFileKeys(kind, file, hide));
  const hasLogin = files.some(({ isLogin }) => isLogin);
  const hasKeyFile = keys.size > 0;
  const env: Record<string, string> = {};
  const isGiven = kind.keyVariables.some((name) => workerEnv[name] !== undefined);
  if (!hasLogin && !hasKeyFile && !isGiven)
    for (const name of [...kind.keyVariables, ...kind.plainVariables]) {
      const value = hostEnv[name];
      if (value !== undefined && value !== "") env[name] = value;
    }
  for (const [name, value] of Object.entries({ ...env, ...workerEnv }))
    env[name] = kind.keyVariables.includes(name) && value !== "" ? hide(value) : value;
  const found = hasLogin || hasKeyFile || Object.keys(env).length > 0;
  return { home: parts.home, files, env, keys, found };
}

/** The files of a login that whoever reads them can use. */
export function readableLogins({ files }: Credentials): readonly string[] {
  return files.flatMap(({ path, isLogin }) => (isLogin ? [path] : []));
}

function makeStandIn(): string {
  return `picoclaw-${randomBytes(16).toString("hex")}`;
}

/** Every file once; of a folder all that it holds, but for what the CLI only remembers. */
function filesOf(kind: WorkerKind, home: string): CopiedFile[] {
  const found = new Map<string, CopiedFile>();
  let total = 0;
  const isLogin = (path: string) => kind.credentials.some((one) => one.path === path && one.isLogin);
  const take = (path: string, depth: number): void => {
    const stats = statSync(join(home, path), { throwIfNoEntry: false });
    if (stats === undefined || found.has(path) || kind.leftOut.includes(path)) return;
    if (stats.isDirectory()) {
      if (depth < MAX_DEPTH)
        for (const name of readdirSync(join(home, path)).sort())
          ignoreSystemError(() => take(`${path}/${name}`, depth + 1));
    } else if (stats.isFile() && stats.size <= MAX_BYTES && total + stats.size <= MAX_TOTAL) {
      const bytes = readFileSync(join(home, path));
      total += bytes.length;
      found.set(path, { path, bytes, isLogin: isLogin(path) });
    }
  };
  // Logins first: what is large beside them must not crowd them out.
  const sorted = [...kind.credentials].sort((a, b) => Number(b.isLogin) - Number(a.isLogin));
  for (const { path } of sorted) ignoreSystemError(() => take(path, 0));
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What cannot be read is not there. */
function ignoreSystemError(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
  }
}

/** A file that holds a key instead of a login gets the stand-in. */
function withoutFileKeys(kind: WorkerKind, file: CopiedFile, hide: (key: string) => string): CopiedFile {
  const text = new TextDecoder().decode(file.bytes);
  const names = kind.keyVariables.join("|");
  const shapes = [
    // .env
    new RegExp(`^(\\s*(?:export\\s+)?(?:${names})\\s*=\\s*["']?)([^"'\\s#]+)`, "gm"),
    // JSON
    new RegExp(`("(?:${names})"\\s*:\\s*")([^"\\s]+)`, "g"),
  ];
  const hidden = shapes.reduce(
    (all, shape) => all.replace(shape, (_, before: string, key: string) => `${before}${hide(key)}`),
    text,
  );
  if (hidden === text) return file;
  // A JSON login with tokens beside the key stays a login.
  const isLogin = file.isLogin && /"(?:access|refresh|id)_?token"\s*:\s*"/i.test(text);
  return { path: file.path, bytes: new TextEncoder().encode(hidden), isLogin };
}
