import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import type { ExecRequest, ExecResult, SandboxManager } from "../../application/ports/containers.ts";
import { attemptOr, succeeds, trySystemCall } from "../../domain/platform/error-text.ts";
import { isJsonObject } from "../../domain/platform/json-members.ts";
import { createMasker } from "../../domain/platform/mask.ts";
import { isInside } from "../../domain/platform/paths.ts";
import type { TaskMessages } from "../../domain/texts/tasks.ts";
import { makeStandIn, type WorkerKind } from "../heads/kinds/worker-kind.ts";
import { readNoFollow } from "../platform/read-file.ts";
import { replaceFile } from "../platform/text-files.ts";

/** Files for the container's HOME, variables, and keys of which the CLI gets only stand-ins. */
export type Credentials = ReturnType<typeof findCredentials>;

interface CopiedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** A login that any reader of the file can use. */
  readonly isLogin: boolean;
}

export interface CredentialDeps {
  readonly home: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly workerEnv: Readonly<Record<string, string>>;
  /** Whether a person's login may be used, or keys alone. Default: it may. */
  readonly logins?: boolean;
  readonly newStandIn?: () => string;
}

/** Files of a login are a few kilobytes, and few. */
const MAX_BYTES = 1024 ** 2;
const MAX_TOTAL = 8 * MAX_BYTES;
const MAX_DEPTH = 4;

/**
 * The login's files where there are some, else the variables that stand in for one. The CLI gets copies, because it writes beside them
 * or refreshes them. A key is never copied: the CLI gets a stand-in, and a proxy outside of the container puts the key in its place.
 */
export function findCredentials(kind: WorkerKind, deps: CredentialDeps) {
  const { workerEnv, hostEnv, newStandIn = makeStandIn } = deps;
  const keys = new Map<string, string>();
  const hide = (key: string) => {
    const known = [...keys].find(([, value]) => value === key)?.[0];
    const stand = known ?? newStandIn();
    keys.set(stand, key);
    return stand;
  };
  const files = filesOf(kind, deps.home)
    .map((file) => withoutFileKeys(kind, file, hide))
    .filter(({ isLogin }) => !isLogin || deps.logins !== false);
  const hasLogin = files.some(({ isLogin }) => isLogin);
  const hasKeyFile = keys.size > 0;
  /** Keys are stand-ins here. */
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
  const placed = hasLogin || keys.size === 0 ? files : withKeySettings(kind, files, env);
  return { home: deps.home, files: placed, env, keys, found };
}

/** The settings of a CLI that uses a key only if its settings say so. */
function withKeySettings(
  { keySettings }: WorkerKind,
  files: readonly CopiedFile[],
  env: Readonly<Record<string, string>>,
): readonly CopiedFile[] {
  if (keySettings === undefined) return files;
  const { path, choose } = keySettings;
  const own = files.find((file) => file.path === path);
  const settings = own === undefined ? {} : parseLogin(new TextDecoder().decode(own.bytes));
  const chosen = JSON.stringify(choose(isJsonObject(settings) ? settings : {}, env));
  const bytes = new TextEncoder().encode(chosen);
  return [...files.filter((file) => file !== own), { path, bytes, isLogin: false }];
}

export interface WorkerLoginRequest {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workerEnv: Readonly<Record<string, string>>;
  readonly logins: boolean;
  readonly secrets: readonly string[];
}

/** The worker CLI's login on this machine, and a masker that knows it. */
export function openWorkerLogin(
  kind: WorkerKind,
  { env, workerEnv, logins, secrets }: WorkerLoginRequest,
): { readonly credentials: Credentials; mask(text: string): string } {
  const home = env.HOME ?? homedir();
  const credentials = findCredentials(kind, { home, hostEnv: env, workerEnv, logins });
  return { credentials, mask: maskCredentials(secrets, credentials) };
}

/** The files of a login that any reader can use. */
export function readableLogins({ files }: Credentials): readonly string[] {
  return files.flatMap(({ path, isLogin }) => (isLogin ? [path] : []));
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
          trySystemCall(() => take(`${path}/${name}`, depth + 1));
    } else if (stats.isFile() && stats.size <= MAX_BYTES && total + stats.size <= MAX_TOTAL) {
      const bytes = readFileSync(join(home, path));
      total += bytes.length;
      found.set(path, { path, bytes, isLogin: isLogin(path) });
    }
  };
  // Logins first: what is large beside them must not crowd them out.
  const sorted = [...kind.credentials].sort((a, b) => Number(b.isLogin) - Number(a.isLogin));
  for (const { path } of sorted) trySystemCall(() => take(path, 0));
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
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

/** In the container's own layer, which is removed with it; a user with any number may write there. */
export const CONTAINER_HOME = "/var/tmp/home";
/** Memory, never a disk. */
const SECRETS_FOLDER = "/dev/shm/picoclaw";
const QUICK_MS = 30_000;

type Exec = (
  request: Omit<ExecRequest, "timeoutMs" | "outputLimitBytes"> &
    Partial<Pick<ExecRequest, "outputLimitBytes">>,
) => Promise<ExecResult>;

function quickExec(sandbox: SandboxManager, container: string): Exec {
  return (request) =>
    sandbox.exec(container, { cwd: "/workspace", timeoutMs: QUICK_MS, outputLimitBytes: 4096, ...request });
}

/** Puts a login's files into memory, with a link in HOME, so that what the CLI writes beside them is in memory too. */
export async function placeCredentials(
  sandbox: SandboxManager,
  container: string,
  { files }: Credentials,
): Promise<string | null> {
  const exec = quickExec(sandbox, container);
  const made = await exec({ command: ["mkdir", "-p", CONTAINER_HOME] });
  if (made.exitCode !== 0) return execFailureText(made);
  const link =
    'umask 077; mkdir -p -- "$(dirname -- "$2")" "$(dirname -- "$1")"; [ -z "$3" ] || mkdir -p -- "$1"; ln -sfn -- "$1" "$2"';
  for (const top of new Set(files.map(({ path }) => topOf(path)))) {
    const isFolder = files.some(({ path }) => path.startsWith(`${top}/`));
    const at = [`${SECRETS_FOLDER}/${top}`, `${CONTAINER_HOME}/${top}`, isFolder ? "folder" : ""] as const;
    const linked = await exec({ command: ["sh", "-c", link, "sh", ...at] });
    if (linked.exitCode !== 0) return execFailureText(linked);
  }
  const put = 'umask 077; mkdir -p -- "$(dirname -- "$1")" && cat > "$1"';
  for (const { path, bytes } of files) {
    const result = await exec({
      command: ["sh", "-c", put, "sh", `${SECRETS_FOLDER}/${path}`],
      stdin: bytes,
    });
    if (result.exitCode !== 0) return execFailureText(result);
  }
  return null;
}

/** `.codex` of `.codex/auth.json`, `.config/claude` of a path below it. */
function topOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return first === ".config" ? `${first}/${second}` : first;
}

/** A small file of HOME as it is now; null when it cannot be read. */
async function readInside(sandbox: SandboxManager, container: string, path: string): Promise<string | null> {
  const exec = quickExec(sandbox, container);
  const result = await exec({
    command: ["cat", "--", `${CONTAINER_HOME}/${path}`],
    outputLimitBytes: 2 * 1024 ** 2,
  });
  return result.exitCode === 0 && result.truncatedBytes === 0 ? result.stdout : null;
}

/** The first of these programs that the container does not have. Builtins of its shell count; an empty name is passed over. */
export async function firstMissing(
  sandbox: SandboxManager,
  container: string,
  programs: readonly string[],
): Promise<string | null> {
  const exec = quickExec(sandbox, container);
  for (const program of programs) {
    if (program === "") continue;
    const found = await exec({ command: ["sh", "-c", 'command -v -- "$1" >/dev/null', "sh", program] });
    if (found.outcome === "exited" && found.exitCode !== 0) return program;
  }
  return null;
}

/** Brings paths inside back to what the host has. Best effort: what is left out of a job never reaches the host. */
export async function restoreInside(
  sandbox: SandboxManager,
  container: string,
  roots: readonly { readonly path: string; readonly target: string }[],
  paths: readonly string[],
): Promise<void> {
  const exec = quickExec(sandbox, container);
  for (const absolute of paths) {
    const root = roots.find(({ path }) => isInside(path, absolute));
    if (root === undefined) continue;
    const inside = `${root.target}/${relative(root.path, absolute)}`;
    const stats = lstatSync(absolute, { throwIfNoEntry: false });
    const gone = 'rm -rf -- "$1"';
    const parent = 'mkdir -p -- "$(dirname -- "$1")"';
    if (stats?.isFile()) {
      const put = `${gone}; ${parent}; cat > "$1" && chmod "$2" "$1"`;
      const mode = (stats.mode & 0o7777).toString(8);
      await exec({ command: ["sh", "-c", put, "sh", inside, mode], stdin: readNoFollow(absolute) });
    } else if (stats?.isSymbolicLink()) {
      const link = `${gone}; ${parent}; ln -s -- "$2" "$1"`;
      await exec({ command: ["sh", "-c", link, "sh", inside, readlinkSync(absolute)] });
    } else if (stats === undefined) await exec({ command: ["sh", "-c", gone, "sh", inside] });
  }
}

export function execFailureText(result: ExecResult): string {
  return result.failure?.detail ?? (result.stderr.trim() || `exit ${result.exitCode ?? result.outcome}`);
}

/** The fate of a login that a CLI had inside a container, on the machine it was copied from. */
export type LoginVerdict =
  /** It was not refreshed. */
  | "same"
  /** It was, and the one it was copied from is none any more: it must go back. */
  | "refreshed"
  /** Both were. */
  | "host-changed"
  /** It is something else than a refreshed login: project code may write there too. */
  | "unlike";

export interface LoginCopies {
  readonly placed: string;
  readonly inside: string;
  readonly host: string | null;
}

/** Only these may differ from what was placed. */
const REFRESHABLE = /token|expir|refresh/i;
/** A token may grow a little. */
const LONGER_BY = 16_384;

export function validateLogin({ placed, inside, host }: LoginCopies): LoginVerdict {
  if (inside === placed || inside === host) return "same";
  if (inside.length > placed.length + LONGER_BY) return "unlike";
  const [before, after] = [parseLogin(placed), parseLogin(inside)];
  if (!isJsonObject(before) || !isJsonObject(after) || !isRefreshed(before, after)) return "unlike";
  return host === placed ? "refreshed" : "host-changed";
}

/** The same keys, and the same values but for tokens; a token that names a person names the same one. */
function isRefreshed(before: LoginJson, after: LoginJson): boolean {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].every((name) => {
    const [old, now] = [before[name], after[name]];
    if (isJsonObject(old) && isJsonObject(now)) return isRefreshed(old, now);
    if (JSON.stringify(old) === JSON.stringify(now)) return true;
    if (!REFRESHABLE.test(name) || isJsonObject(old) || isJsonObject(now)) return false;
    if (old !== undefined && old !== null && typeof old !== typeof now) return false;
    return personIn(old) === personIn(now) || personIn(old) === null;
  });
}

/** Whose token it is, as far as it says so. */
function personIn(token: unknown): string | null {
  const middle = typeof token === "string" ? /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token)?.[1] : undefined;
  if (middle === undefined) return null;
  const claims = parseLogin(attemptOr("", () => atob(middle.replaceAll("-", "+").replaceAll("_", "/"))));
  return isJsonObject(claims) && typeof claims.sub === "string" ? claims.sub : null;
}

type LoginJson = Readonly<Record<string, unknown>>;

function parseLogin(text: string): unknown {
  return attemptOr(undefined, () => JSON.parse(text));
}

export interface BringBackDeps {
  readonly sandbox: SandboxManager;
  readonly container: string;
  readonly credentials: Credentials;
  readonly messages: TaskMessages;
}

/** A login that the CLI refreshed replaces the user's, which is worthless by then, if that is unchanged. Otherwise a note says why not. */
export async function bringBackLogins(deps: BringBackDeps): Promise<readonly string[]> {
  const { sandbox, container, credentials, messages } = deps;
  const decoder = new TextDecoder();
  const notes: string[] = [];
  for (const { path, bytes, isLogin } of credentials.files) {
    if (!isLogin) continue;
    const inside = await readInside(sandbox, container, path);
    if (inside === null) continue;
    const at = join(credentials.home, path);
    const verdict = validateLogin({ placed: decoder.decode(bytes), inside, host: readLoginText(at) });
    if (verdict === "refreshed") {
      if (!succeeds(() => replaceFile(at, inside))) notes.push(messages.loginKept(path, "unwritable"));
    } else if (verdict !== "same") notes.push(messages.loginKept(path, verdict));
  }
  return notes;
}

function readLoginText(path: string): string | null {
  return attemptOr(null, () => readFileSync(path, "utf8"));
}

function maskCredentials(known: readonly string[], credentials: Credentials): (text: string) => string {
  const all = [...known, ...credentials.keys.values(), ...tokensIn(credentials)];
  return createMasker({ secrets: all.filter((value) => value.length >= 6) }).mask;
}

/** Strings that look like a token in a login's files must not appear in a note. */
function tokensIn({ files }: Credentials): string[] {
  const decoder = new TextDecoder();
  return files.flatMap(({ path, bytes }) =>
    path.endsWith(".json") ? (decoder.decode(bytes).match(/(?<=")[\w./+=-]{24,}(?=")/g) ?? []) : [],
  );
}
