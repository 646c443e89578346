import { nameJob, PROCESS_DIED } from "../../domain/jobs/result.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import { interruptedFileLines, wordUnreadable } from "../../domain/texts/jobs-notes.ts";
import type { JobProcess, StoredJob } from "../ports/jobs.ts";
import type { DoctorCheck, OpenedWorkspace, Workspace, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { wordRepair } from "./action-report.ts";
import { interruptedDirection, nameJobId, toJobRecord } from "./job-facts.ts";

export type CloseDeadJobsDeps = Pick<WorkspaceDeps, "archive" | "transactions" | "processes"> & {
  readonly isAlive: (job: JobProcess) => boolean;
};

/** Whether a job's process ended while it ran, or between seal and commit: it had applied nothing. */
export function isDead(job: StoredJob, isAlive: (job: JobProcess) => boolean): boolean {
  const unfinished = job.state === "running" || (job.state === "staged" && job.outcome === "committed");
  return unfinished && !isAlive(job);
}

/** Ends the remaining processes of dead jobs, drops their staged changes, and closes their records. */
export async function closeDeadJobs(deps: CloseDeadJobsDeps): Promise<readonly string[]> {
  const { archive, transactions, isAlive } = deps;
  const dead = archive.list(["running", "staged"]).filter((job) => isDead(job, isAlive));
  if (dead.length === 0) return [];
  const { killJobProcesses } = await deps.processes();
  const closed: string[] = [];
  for (const job of dead) {
    const { pid, birth, ...record } = toJobRecord(job);
    await killJobProcesses(record.jobId);
    await transactions.discard(record.jobId);
    // A commit that had begun is left to the repair.
    if (archive.read(record.jobId)?.state !== "discarded") continue;
    closed.push(record.jobId);
    archive.append(record.jobId, { type: "rolled_back", reason: PROCESS_DIED });
    archive.save({ ...record, outcome: "aborted", success: false, changes: [], reason: PROCESS_DIED });
  }
  return closed;
}

/** Jobs that a crash left behind: listed, or with `repair` finished or rolled back. */
export async function diagnoseJobs(
  { workspace, messages }: Pick<OpenedWorkspace, "workspace" | "messages">,
  options: { readonly repair: boolean },
): Promise<DoctorCheck[]> {
  if (!options.repair) {
    const jobs = workspace.archive.list();
    const dead = jobs
      .filter((job) => (job.unsettled ?? "due") === "due" && isDead(job, workspace.isAlive))
      .map((job) => messages.jobDied(nameJob(job)));
    const open = jobs.filter(({ closed }) => closed === undefined);
    const damaged = wordUnreadable(messages, open);
    const remedy = "picoclaw doctor --repair";
    const halted = listHalted(workspace).map((job) =>
      messages.jobInterrupted(nameJob(job), interruptedDirection(job)),
    );
    return [
      ...(await diagnoseInterruption(workspace, messages)),
      ...[...halted, ...damaged, ...dead].map((text) => ({ name: "repair", ok: false, text, remedy })),
      ...diagnoseClosed(workspace, messages),
      ...(await diagnoseUndo(workspace, messages, { whole: false })),
    ];
  }
  const checks: DoctorCheck[] = [];
  const name = (jobId: string) => nameJobId(workspace.archive, jobId);
  for (const halted of [undefined, ...listHalted(workspace)]) {
    const settled = await workspace.repair(halted?.jobId);
    const text = settled && wordRepair(messages, workspace.archive, settled);
    if (text !== null) checks.push({ name: "repair", ok: settled?.outcome !== "stuck", text });
  }
  for (const { jobId, file, repaired, lost } of await workspace.repairRecords())
    checks.push({
      name: "repair",
      ok: repaired,
      text: [
        repaired ? messages.recordRepaired(name(jobId), file) : messages.recordLost(name(jobId), file),
        ...(lost === undefined ? [] : [messages.undoRebuilt(lost)]),
      ].join("\n"),
    });
  for (const jobId of await workspace.closeDeadJobs())
    checks.push({ name: "repair", ok: true, text: messages.jobDied(name(jobId)) });
  checks.push(
    ...(await diagnoseInterruption(workspace, messages)),
    ...diagnoseClosed(workspace, messages),
    ...(await diagnoseUndo(workspace, messages, { whole: true })),
  );
  return checks;
}

/** Half-way, until their record can be read. */
function listHalted({ archive }: Workspace): StoredJob[] {
  return archive.list().filter(({ unsettled }) => unsettled === "halted");
}

/** A repair cannot open them. */
function diagnoseClosed({ archive }: Workspace, messages: Messages): DoctorCheck[] {
  const closed = archive.list().filter((job) => job.closed !== undefined);
  return wordUnreadable(messages, closed).map((text) => ({ name: "repair", ok: false, text }));
}

/** A swap that was cut off and waits for a repair, with the state of its files. */
async function diagnoseInterruption(workspace: Workspace, messages: Messages): Promise<DoctorCheck[]> {
  const open = await workspace.findInterruption();
  if (open === null) return [];
  const { jobId, direction, files } = open;
  const text = [
    messages.jobInterrupted(nameJobId(workspace.archive, jobId), direction),
    ...(files === null ? [] : interruptedFileLines(messages, files)),
  ].join("\n");
  return [{ name: "repair", ok: false, text, remedy: "picoclaw doctor --repair" }];
}

/** Optional: the next undo rebuilds what it can, and the user cannot restore the rest. */
async function diagnoseUndo(
  workspace: Workspace,
  messages: Messages,
  { whole }: { readonly whole: boolean },
): Promise<DoctorCheck[]> {
  return (await workspace.findDamagedUndo({ whole })).map(({ jobId, file, lost }) => ({
    name: "undo",
    ok: false,
    optional: true,
    text: messages.undoDamaged(nameJobId(workspace.archive, jobId), file, lost),
    ...(typeof lost !== "string" && {
      remedy:
        lost === null
          ? messages.undoDamagedRemedy(file.replace(/[^/]*$/, "slots"))
          : "picoclaw doctor --repair",
    }),
  }));
}
