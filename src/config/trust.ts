import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { COMMAND_FOLDERS, MCP_FILE } from "../domain/config/configured-kinds.ts";
import { attemptOr } from "../domain/platform/error-text.ts";
import { workspaceConfigFile } from "./environment.ts";

/** A command or a skill that a workspace contains. */
interface WorkspaceCommandFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** A larger file is never read as a command. */
const MOST_BYTES = 64 * 1024;

/** `commands/*.md`, the `SKILL.md` of `skills/*` with the files beside it, and the file of MCP servers: plain files in plain folders. */
function ownFiles(workspace: string): WorkspaceCommandFile[] {
  const paths = COMMAND_FOLDERS.flatMap((root) => {
    const commands = namesIn(workspace, root, "commands").filter((name) => name.endsWith(".md"));
    const skills = namesIn(workspace, root, "skills").flatMap((name) =>
      pathsBelow(workspace, [root, "skills", name]),
    );
    return [...commands.map((name) => `${root}/commands/${name}`), ...skills];
  });
  return [...paths, MCP_FILE].flatMap((path) => {
    const bytes = readPlain(join(workspace, path));
    return bytes === null ? [] : [{ path, bytes }];
  });
}

const DEEPEST = 5;

/** Everything below a folder, entries that are no folders by their paths in the workspace. */
function pathsBelow(workspace: string, folders: readonly string[], depth = 0): string[] {
  return namesIn(workspace, ...folders).flatMap((name) => {
    const path = [...folders, name];
    const isDeeper = depth < DEEPEST && isFolder(join(workspace, ...path));
    return isDeeper ? pathsBelow(workspace, path, depth + 1) : [path.join("/")];
  });
}

function namesIn(workspace: string, ...folders: readonly string[]): string[] {
  const all = folders.map((_, n) => join(workspace, ...folders.slice(0, n + 1)));
  return attemptOr([], () => (all.every(isFolder) ? readdirSync(join(workspace, ...folders)).sort() : []));
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function readPlain(path: string): Uint8Array | null {
  return attemptOr(null, () => {
    const stats = lstatSync(path);
    return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(path) : null;
  });
}

/**
 * The folders that the user trusts, in `$PICOCLAW_HOME/trust.json` by real path, with the SHA-256 of `picoclaw.yaml` (of nothing,
 * where there is none) and one of all commands and skills: changed content is untrusted. An unreadable list trusts no folder.
 */
interface TrustEntry {
  readonly sha256: string;
  /** Of the commands and skills; absent where there were none. */
  readonly commands_sha256?: string;
  /** The hosts that its files and remotes named at that time. */
  readonly hosts?: readonly string[];
  readonly trusted_at: string;
}
type TrustList = Readonly<Record<string, TrustEntry>>;

interface TrustPlace {
  readonly home: string;
  readonly workspace: string;
}

export function isTrusted(at: TrustPlace & { readonly content: Uint8Array }): boolean {
  const path = realPath(at.workspace);
  if (path === undefined) return false;
  const list = readTrust(at.home);
  return Object.hasOwn(list, path) && list[path]?.sha256 === sha256(at.content);
}

/** Whether the user trusts the folder with the file that it has now, or without one. */
export function isFolderTrusted(at: TrustPlace): boolean {
  return isTrusted({ ...at, content: readFile(workspaceConfigFile(at.workspace)) ?? NO_FILE });
}

/** Whether the user trusts the folder with the file, the commands and the skills that it has now. */
export function areCommandsTrusted(at: TrustPlace): boolean {
  const path = realPath(at.workspace);
  if (path === undefined || !isFolderTrusted(at)) return false;
  return readTrust(at.home)[path]?.commands_sha256 === digest(ownFiles(path));
}

/** The hosts that a trusted folder named when the user trusted it: a job that changes its files or remotes adds none. */
export function trustedHosts(at: TrustPlace): readonly string[] {
  const path = realPath(at.workspace);
  return path !== undefined && isFolderTrusted(at) ? (readTrust(at.home)[path]?.hosts ?? []) : [];
}

/** The content that the list records for a folder that had no file. */
const NO_FILE = new Uint8Array();

export type TrustResult =
  | {
      readonly ok: true;
      readonly workspace: string;
      readonly sha256: string;
      readonly files: readonly string[];
    }
  | {
      readonly ok: false;
      readonly reason: "no-folder" | "not-written" | "changed";
      readonly cause?: unknown;
    };

/** The content of a folder that the user must have seen to trust it; `seen` represents all of it. */
export function trustSubject(workspace: string) {
  const content = readFile(workspaceConfigFile(workspace));
  const own = ownFiles(workspace);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return {
    text: content === undefined ? null : text(content),
    commands: own.map(({ path, bytes }) => ({ path, text: text(bytes) })),
    seen: seenOf(content ?? NO_FILE, own),
  };
}

/** Trusts the folder, with what it has now, or only if that is what was `seen`. `hosts`: those that it names. Idempotent. */
export function trustWorkspace(
  at: TrustPlace & { readonly now: Date; readonly seen?: string; readonly hosts?: readonly string[] },
): TrustResult {
  const path = realPath(at.workspace);
  if (path === undefined) return { ok: false, reason: "no-folder" };
  const file = workspaceConfigFile(path);
  const content = readFile(file);
  const own = ownFiles(path);
  const commands = digest(own);
  const entry: TrustEntry = {
    sha256: sha256(content ?? NO_FILE),
    ...(commands !== undefined && { commands_sha256: commands }),
    ...(at.hosts !== undefined && { hosts: at.hosts }),
    trusted_at: at.now.toISOString(),
  };
  if (at.seen !== undefined && at.seen !== seenOf(content ?? NO_FILE, own))
    return { ok: false, reason: "changed" };
  try {
    writeTrust(at.home, { ...readTrust(at.home), [path]: entry });
  } catch (cause) {
    return { ok: false, reason: "not-written", cause };
  }
  const files = [...(content === undefined ? [] : [basename(file)]), ...own.map((one) => one.path)];
  return { ok: true, workspace: path, sha256: entry.sha256, files };
}

export function trustedFolders(home: string): readonly { readonly workspace: string; readonly at: string }[] {
  return Object.entries(readTrust(home)).map(([workspace, { trusted_at: at }]) => ({ workspace, at }));
}

/** Trusts a folder no longer; false when it was not. */
export function distrustWorkspace(at: TrustPlace): boolean {
  const { [at.workspace]: gone, ...others } = readTrust(at.home);
  if (gone === undefined) return false;
  writeTrust(at.home, others);
  return true;
}

function readTrust(home: string): TrustList {
  return attemptOr({}, () => {
    const data: unknown = JSON.parse(readFileSync(join(home, "trust.json"), "utf8"));
    if (typeof data !== "object" || data === null || !("workspaces" in data)) return {};
    return (data.workspaces ?? {}) as TrustList;
  });
}

function writeTrust(home: string, workspaces: TrustList): void {
  const file = join(home, "trust.json");
  const draft = `${file}.${crypto().randomBytes(6).toString("hex")}`;
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${JSON.stringify({ version: 1, workspaces }, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, file);
  } catch (cause) {
    rmSync(draft, { force: true });
    throw cause;
  }
}

/** One digest of all of them; undefined when there are none. */
function digest(files: readonly WorkspaceCommandFile[]): string | undefined {
  if (files.length === 0) return undefined;
  const all = files.map(({ path, bytes }) => [path, sha256(bytes)]);
  return sha256(new TextEncoder().encode(JSON.stringify(all)));
}

function seenOf(content: Uint8Array, own: readonly WorkspaceCommandFile[]): string {
  return [sha256(content), digest(own) ?? ""].join(".");
}

function sha256(content: Uint8Array): string {
  return crypto().createHash("sha256").update(content).digest("hex");
}

function realPath(path: string): string | undefined {
  return attemptOr(undefined, () => realpathSync(path));
}

/** More than any settings have: a link may lead to a device that never ends, or to a pipe without a writer. */
const MOST_SETTINGS_BYTES = 1024 * 1024;

function readFile(path: string): Uint8Array | undefined {
  return attemptOr(undefined, () => {
    const stats = statSync(path);
    return stats.isFile() && stats.size <= MOST_SETTINGS_BYTES ? readFileSync(path) : undefined;
  });
}

/** Loaded when it is used: it costs 10 ms, and most workspaces have no file to be trusted. */
function crypto() {
  return process.getBuiltinModule("node:crypto");
}
