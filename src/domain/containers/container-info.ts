/** One task's container. The names of the fields are public. */
export interface ContainerInfo {
  readonly container_id: string;
  readonly task_uuid: string;
  readonly environment_name: string;
  /** `/workspace/project` */
  readonly workspace_path: string;
  /** ISO 8601, UTC. */
  readonly created_at: string;
  readonly status: "created" | "ready" | "stopped";
}

const PREFIX = "coding-agent-exec-";

/** The name under which an operator finds the container of a task. */
export function containerName(taskUuid: string): string {
  return `${PREFIX}${taskUuid}`;
}

/** A task's id becomes part of names on the engine: letters, digits, `.`, `_` and `-`, as a UUID has them. */
export function isTaskUuid(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(text);
}

/** Under these labels (with the sandbox's own prefix) a container remembers what it is for. */
export const ENVIRONMENT_LABELS = { environment: "environment", ready: "ready" } as const;
