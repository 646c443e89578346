import type { SolveParts, Work } from "./solve-parts.ts";
import { SolveStop } from "./solve-stop.ts";

/** Makes the environment, and brings in what was done before a pause or a crash. */
export async function prepareTask(
  { environments, forge, messages, mask }: SolveParts,
  work: Work,
): Promise<void> {
  const { task, item, repository, signal } = work;
  const fork = item.pull !== undefined && item.pull.sourceRepository !== item.ref.repository;
  const source = fork ? await forge.readRepository(item.pull?.sourceRepository ?? "", signal) : null;
  if (source !== null && !source.ok) throw new SolveStop("clone", mask(source.failure.message));
  const prepared = await environments.prepare({
    taskId: task.id,
    environment: task.plan?.environment ?? null,
    worker: task.worker,
    cloneUrl: source?.value.cloneUrl ?? repository.cloneUrl,
    credentials: forge.credentials,
    branch: task.base?.branch ?? repository.defaultBranch,
    targetBranch: fork ? null : (item.pull?.targetBranch ?? null),
    signal,
    onProgress: work.say,
  });
  if (!prepared.ok) {
    if (prepared.kind === "aborted") throw new SolveStop("stopped");
    throw new SolveStop(prepared.kind, mask(prepared.message));
  }
  work.environment = prepared;
  const notes = prepared.warnings.map((text) => messages.installWarning(mask(text)));
  await work.update({
    environment: prepared.name,
    base: { branch: task.base?.branch ?? repository.defaultBranch, commit: prepared.baseCommit },
    notes: [...new Set([...task.notes, ...notes])],
  });
  if (task.patch === "") return;
  const trouble = await prepared.bringIn(Buffer.from(task.patch, "base64"), signal);
  if (trouble === null) return;
  // The base moved against what was done: the coder looks at the project anew.
  const text = `The environment was made anew, and your earlier changes did not fit any more:\n${mask(trouble)}\nLook at the project again and redo them.`;
  await work.update({ patch: "", transcript: [...work.task.transcript, { role: "user", text }] });
}
