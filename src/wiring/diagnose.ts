import { execFileSync } from "node:child_process";
import type { Check } from "../application/ports/check.ts";
import type { Opened } from "../application/ports/opening.ts";
import { isDead } from "../application/work/close-dead-jobs.ts";

/** Looks at the parts a job needs on this machine. */
export async function diagnose(
  env: Readonly<Record<string, string | undefined>>,
  opened: Opened,
  options: { repair: boolean },
): Promise<Check[]> {
  const { messages, workspace } = opened;
  const checks: Check[] = [{ name: "runtime", ok: true, text: `Bun ${process.versions.bun ?? "?"}` }];
  const git = versionOf("git", env);
  checks.push({
    name: "git",
    ok: git !== null,
    text: git ?? messages.gitMissing,
    remedy: messages.remedy("install-git"),
  });
  for (const shell of ["bash", "sh"]) {
    const found = versionOf(shell, env, ["-c", "echo ok"]) !== null;
    checks.push({ name: shell, ok: found, text: shell });
  }
  checks.push({ name: "workspace", ok: true, text: workspace.root });
  checks.push({
    name: "transaction",
    ok: true,
    text: messages.transactionKind(workspace.staging.kind, workspace.staging.reason),
  });
  const { diagnoseSandbox } = await import("./diagnose-sandbox.ts");
  checks.push(...diagnoseSandbox(env, opened));
  const { diagnoseDocker } = await import("./diagnose-docker.ts");
  checks.push(...(await diagnoseDocker(env, opened)));
  const { diagnoseModels } = await import("./diagnose-models.ts");
  checks.push(...(await diagnoseModels(env, opened)));
  const { diagnoseMemory } = await import("./diagnose-memory.ts");
  checks.push(...(await diagnoseMemory(env, opened)));
  // Asked for by hand: what somebody edited since the crash stays as it is, the rest is finished.
  const interrupted = options.repair ? await workspace.repair({ keepMine: true }) : null;
  if (interrupted !== null) {
    const { jobId, outcome, conflicts } = interrupted;
    const finished = outcome !== "stuck";
    const paths = conflicts.map(({ path }) => ` ${path}`).join("");
    const done = messages.jobRepaired(jobId, outcome === "taken-back" ? "rolled-back" : "completed");
    checks.push({
      name: "repair",
      ok: finished,
      text: `${finished ? done : messages.jobInterrupted(jobId)}${paths}`,
    });
  }
  if (!options.repair) {
    for (const job of workspace.archive.list().filter((one) => isDead(one, workspace.isAlive)))
      checks.push({
        name: "repair",
        ok: false,
        text: messages.jobDied(job.jobId),
        remedy: "picoclaw doctor --repair",
      });
  }
  for (const jobId of options.repair ? await workspace.closeDeadJobs() : [])
    checks.push({ name: "repair", ok: true, text: messages.jobRepaired(jobId, "rolled-back") });
  return checks;
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
