import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";

/** A machine is a home: its id is a random text in a file there, made by the first process that asks. */
export function readMachineId(home: string): string {
  const file = join(home, "machine-id");
  const known = readIdFile(file);
  if (known !== null) return known;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const own = `${file}.${crypto.randomUUID()}`;
  writeFileSync(own, `${crypto.randomUUID().replaceAll("-", "")}\n`, { mode: 0o600 });
  try {
    // Of several processes that make it at once, one links first, and all read that one.
    linkSync(own, file);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readIdFile(file) ?? "";
}

/** Tells a home from its copies: they have the same id. One that is moved within its file system stays the same. */
export function homeMark(home: string): string {
  const { dev, ino } = statSync(home, { bigint: true });
  return `${dev}:${ino}`;
}

function readIdFile(file: string): string | null {
  const id = attemptOr("", () => readFileSync(file, "utf8").trim());
  return /^[0-9a-f]{32}$/.test(id) ? id : null;
}

export interface WorkspaceLocation {
  readonly home: string;
  /** As `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
  readonly root: string;
}

/** The store's name for a workspace. In a shared store it begins with the machine: the same path on two machines is two workspaces. */
export function workspaceName({ home, databaseUrl, root }: WorkspaceLocation): string {
  return databaseUrl === undefined ? root : `${readMachineId(home)}:${root}`;
}

/** The machine and the path of such a name. */
export function parseWorkspaceName(name: string): {
  readonly machineId: string | null;
  readonly root: string;
} {
  const parts = /^([0-9a-f]{32}):(.*)$/s.exec(name);
  return parts === null
    ? { machineId: null, root: name }
    : { machineId: parts[1] as string, root: parts[2] as string };
}
