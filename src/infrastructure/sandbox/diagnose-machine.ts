import { execFileSync } from "node:child_process";
import { accessSync, constants, statfsSync, statSync } from "node:fs";
import type { DoctorCheck } from "../../application/ports/jobs-workspace.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import type { Messages } from "../../domain/texts/jobs.ts";

/** Whether jobs can change the workspace at all. */
export function diagnoseWorkspace(
  root: string,
  messages: Messages,
  check: (path: string) => void = (path) => accessSync(path, constants.W_OK | constants.X_OK),
): DoctorCheck {
  try {
    check(root);
    return { name: "workspace", ok: true, text: root };
  } catch {
    const remedy = messages.remedy("let-write");
    return { name: "workspace", ok: false, text: messages.workspaceReadOnly(root), remedy };
  }
}

const SCARCE_BYTES = 64 * 1024 ** 2;
/** Less than a record of a job takes. */
const FULL_BYTES = 1024 ** 2;

/** The disks on which jobs write, where little is free; none where there is enough. */
export function diagnoseSpace(
  folders: readonly string[],
  messages: Messages,
  readDisk: (path: string) => { readonly id: number; readonly freeBytes: number } = readDiskOf,
): DoctorCheck[] {
  const disks = new Map<number, DoctorCheck>();
  for (const folder of folders) {
    const { id, freeBytes } = readDisk(folder);
    if (freeBytes >= SCARCE_BYTES || disks.has(id)) continue;
    disks.set(id, {
      name: "space",
      ok: false,
      ...(freeBytes >= FULL_BYTES && { optional: true }),
      text: messages.diskScarce(folder, freeBytes),
      remedy: messages.remedy("free-space"),
    });
  }
  return [...disks.values()];
}

function readDiskOf(path: string): { readonly id: number; readonly freeBytes: number } {
  // A home that is not made yet has room.
  return attemptOr({ id: -1, freeBytes: Number.POSITIVE_INFINITY }, () => {
    const { bavail, bsize } = statfsSync(path);
    return { id: statSync(path).dev, freeBytes: bavail * bsize };
  });
}

export function diagnosePrograms(
  env: Readonly<Record<string, string | undefined>>,
  messages: Messages,
): DoctorCheck[] {
  const git = versionOf("git", env);
  const shells = ["bash", "sh"].map((shell) => ({
    name: shell,
    ok: versionOf(shell, env, ["-c", "echo ok"]) !== null,
    text: shell,
  }));
  return [
    {
      name: "git",
      ok: git !== null,
      text: git ?? messages.gitMissing,
      remedy: messages.remedy("install-git"),
    },
    ...shells,
  ];
}

function versionOf(
  program: string,
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[] = ["--version"],
): string | null {
  return attemptOr(
    null,
    () =>
      execFileSync(program, args, {
        encoding: "utf8",
        env: { PATH: env.PATH ?? "" },
        stdio: ["ignore", "pipe", "ignore"],
      }).split("\n")[0] ?? "",
  );
}
