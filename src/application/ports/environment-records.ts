import type { ContainerInfo } from "../../domain/containers/container-info.ts";

/**
 * What this installation remembers of its environments, beside the engine: labels cannot say when one became ready,
 * and who was preparing it when it died. Small files; losing them loses no container.
 */
export interface EnvironmentRecords {
  read(taskUuid: string): EnvironmentRecord | null;
  save(record: EnvironmentRecord): void;
  remove(taskUuid: string): void;
  list(): readonly EnvironmentRecord[];
  /** A folder for what else is kept of the task: its jobs and their journal. Made when asked for. */
  folder(taskUuid: string): string;
}

export interface EnvironmentRecord {
  readonly info: ContainerInfo;
  readonly image: string;
  /** Where the project came from; no credential. */
  readonly repository: string;
  /** The process that prepares it, while it does. */
  readonly preparing?: { readonly pid: number; readonly birth?: string };
}
