import type { PriorProgress } from "../../domain/tasks/so-far.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { failedInstallWords } from "./failed-installs.ts";
import { showProject } from "./show-project.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { SolveStop } from "./solve-stop.ts";
import { expectBase } from "./verified-base.ts";

const TOLD_CHARS = 2000;

/** Makes the environment, and brings in what was done before the task ended, paused or crashed. */
export async function prepareTask(parts: SolveDeps, work: SolveWork): Promise<void> {
  const { environments, forge, messages, mask } = parts;
  const { task, item, repository, signal } = work;
  const fork = item.pull !== undefined && item.pull.sourceRepository !== item.ref.repository;
  const source = fork ? await forge.readRepository(item.pull?.sourceRepository ?? "", signal) : null;
  if (source !== null && !source.ok) throw new SolveStop("clone", mask(source.failure.message));
  const branch = task.base?.branch ?? repository.defaultBranch;
  const base = await expectBase(forge, {
    repository: source?.value.name ?? repository.name,
    branch,
    signal,
  });
  const prepared = await environments.prepare({
    taskId: task.id,
    claim: work.claim,
    environment: task.plan?.environment ?? null,
    worker: task.worker,
    cloneUrl: source?.value.cloneUrl ?? repository.cloneUrl,
    credentials: forge.credentials,
    branch,
    targetBranch: fork ? null : (item.pull?.targetBranch ?? null),
    signal,
    onProgress: work.say,
  });
  if (!prepared.ok) {
    if (prepared.kind === "aborted") throw new SolveStop("stopped");
    throw new SolveStop(prepared.kind, mask(prepared.message));
  }
  await base.verify(prepared.baseCommit);
  work.environment = prepared;
  const notes = prepared.warnings.map((text) => messages.installWarning(mask(text)));
  await work.update({
    environment: prepared.name,
    base: { branch, commit: prepared.baseCommit },
    // An installation that failed in an earlier environment says nothing of this one.
    notes: [...task.notes.filter((note) => !note.startsWith(messages.installWarning(""))), ...notes],
  });
  await work.note({ kind: "prepared", environment: prepared.name, troubles: prepared.warnings.map(mask) });
  const trouble =
    task.patch === "" ? null : await prepared.bringIn(Buffer.from(task.patch, "base64"), signal);
  if (trouble !== null || task.patch === "") work.worked = false;
  // A coder that never said anything begins as with a new task.
  if (!task.transcript.some(({ role }) => role === "assistant")) return showProject(parts, work, prepared);
  const failed = await failedInstallWords(prepared, mask, signal);
  const text = [
    goOnText(work.soFar, { hasChange: task.patch !== "", trouble: trouble === null ? null : mask(trouble) }),
    ...failed,
  ].join("\n");
  await work.update({
    ...(trouble !== null && { patch: "" }),
    transcript: [...work.task.transcript, { role: "user", text }],
  });
}

/** What a coder has to know that goes on in a new environment. */
function goOnText(
  soFar: PriorProgress | null,
  { hasChange, trouble }: { readonly hasChange: boolean; readonly trouble: string | null },
): string {
  return [
    "You go on with this task in an environment that was made anew, its dependencies installed anew.",
    ...(soFar === null ? [] : priorProgressText(soFar)),
    trouble !== null
      ? `Your earlier changes did not fit any more:\n${trouble}\nLook at the project again and redo them.`
      : hasChange
        ? "The files are as you left them: `git status` and `git diff` show your changes so far."
        : "Nothing was changed so far.",
    'Go on, or finish with {"done": true, "summary": "…"}.',
  ].join("\n");
}

/** By the record, whatever is left of the conversation. */
function priorProgressText({ ended, edited, checks }: PriorProgress): string[] {
  const ran = checks.map(({ command, exitCode }) => `\`${command}\` → ${exitCode ?? "not run"}`);
  return [
    ...(ended === null || ended.message === ""
      ? []
      : [`It ended before: ${cutMiddle(ended.message, TOLD_CHARS)}`]),
    ...(edited.length === 0 ? [] : [`Files that you edited: ${cutMiddle(edited.join(", "), TOLD_CHARS)}`]),
    ...(ran.length === 0 ? [] : [`The checks then, with their exit codes: ${ran.join(", ")}`]),
  ];
}
