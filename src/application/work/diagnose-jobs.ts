import type { Check } from "../ports/check.ts";
import type { Opened } from "../ports/opening.ts";
import { isDead } from "./close-dead-jobs.ts";

/** Jobs that a crash left behind: named, or with `repair` finished or taken back. */
export async function diagnoseJobs(
  { workspace, messages }: Pick<Opened, "workspace" | "messages">,
  options: { readonly repair: boolean },
): Promise<Check[]> {
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
  const checks: Check[] = [];
  // Asked for by hand: what somebody edited since the crash stays as it is, the rest is finished.
  const interrupted = await workspace.repair({ keepMine: true });
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
  for (const jobId of await workspace.closeDeadJobs())
    checks.push({ name: "repair", ok: true, text: messages.jobRepaired(jobId, "rolled-back") });
  return checks;
}
