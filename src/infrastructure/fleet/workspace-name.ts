import { statSync } from "node:fs";
import { join } from "node:path";
import { readOrMakeId } from "../platform/text-files.ts";

/** A machine is a home: its id is a random text in a file there, made by the first process that asks. */
export const readMachineId = (home: string): string =>
  readOrMakeId(
    join(home, "machine-id"),
    () => crypto.randomUUID().replaceAll("-", ""),
    (id) => /^[0-9a-f]{32}$/.test(id),
  );

/** Tells a home from its copies: they have the same id. One that is moved within its file system stays the same. */
export function homeMark(home: string): string {
  const { dev, ino } = statSync(home, { bigint: true });
  return `${dev}:${ino}`;
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
