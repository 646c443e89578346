import type { ContainerLimits, ContainerSpec } from "../../application/ports/containers.ts";

/** Everything that another process of this installation must know of a container. Labels cannot change later. */
export const LABEL = {
  installation: "picoclaw.installation",
  owner: "picoclaw.owner",
  role: "picoclaw.role",
  task: "picoclaw.task",
  claim: "picoclaw.claim",
  lease: "picoclaw.lease",
  inside: "picoclaw.inside",
  volumes: "picoclaw.volumes",
  settings: "picoclaw.settings",
  proxy: "picoclaw.proxy",
} as const;

/** What runs inside: the supervisor in Perl, or one exec of a shell per command where there is no Perl. */
export type InsideProgram = "perl" | "sh";

export interface ContainerSettings {
  readonly cwd: string;
  readonly roots: readonly string[];
  readonly limits: ContainerLimits;
  readonly uid: number;
  readonly gid: number;
}

export function toContainerSettings(spec: ContainerSpec): ContainerSettings {
  return {
    cwd: spec.workingDirectory ?? "/workspace/project",
    roots: spec.roots ?? ["/workspace"],
    limits: spec.limits,
    uid: spec.user?.uid ?? 10_001,
    gid: spec.user?.gid ?? 10_001,
  };
}

export function readContainerSettings(
  labels: Readonly<Record<string, string>>,
): ContainerSettings | undefined {
  try {
    return JSON.parse(labels[LABEL.settings] ?? "") as ContainerSettings;
  } catch {
    return undefined;
  }
}
