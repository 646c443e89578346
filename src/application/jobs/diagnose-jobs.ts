import type { DoctorCheck } from "../ports/check.ts";
import type { Opened } from "../ports/opening.ts";
import { isDead } from "./dead-jobs.ts";
import { wordRepair } from "./word-repair.ts";

/** Jobs that a crash left behind: named, or with `repair` finished or taken back. */
export async function diagnoseJobs(
  { workspace, messages }: Pick<Opened, "workspace" | "messages">,
  options: { readonly repair: boolean },
): Promise<DoctorCheck[]> {
  if (!options.repair)
    return workspace.archive
      .list()
      .filter((job) => isDead(job, workspace.isAlive))
      .map(({ jobId }) => ({
        name: "repair",
        ok: false,
        text: messages.jobDied(jobId),
        remedy: "picoclaw doctor --repair",
      }));
  const checks: DoctorCheck[] = [];
  const interrupted = await workspace.repair();
  if (interrupted !== null)
    checks.push({
      name: "repair",
      ok: interrupted.outcome !== "stuck",
      text: wordRepair(messages, interrupted),
    });
  for (const jobId of await workspace.closeDeadJobs())
    checks.push({ name: "repair", ok: true, text: messages.jobDied(jobId) });
  return checks;
}
