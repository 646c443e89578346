import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import type { DoctorCheck } from "../../application/ports/jobs-workspace.ts";
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

/** The programs that jobs use. */
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
  try {
    return (
      execFileSync(program, args, {
        encoding: "utf8",
        env: { PATH: env.PATH ?? "" },
        stdio: ["ignore", "pipe", "ignore"],
      }).split("\n")[0] ?? ""
    );
  } catch {
    return null;
  }
}
