import { execFileSync } from "node:child_process";
import type { DoctorCheck } from "../../application/ports/check.ts";
import type { Messages } from "../../domain/texts/messages.ts";

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
