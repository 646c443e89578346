import { readMachineId } from "./machine-id.ts";

export interface WorkspaceLocation {
  readonly home: string;
  /** As `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
  readonly root: string;
}

/**
 * What the store calls a workspace. The same path on two machines is two workspaces, so that in a shared store the name
 * begins with the machine.
 */
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
