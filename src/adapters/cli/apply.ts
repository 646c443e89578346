import { type Flags, openFromFlags, readFlags } from "./flags.ts";
import { mendFirst } from "./mend-first.ts";
import { type CliProgram, EXIT, type OpenWorker } from "./program.ts";
import { createProgress } from "./progress.ts";
import { reportExecution } from "./report-execution.ts";

const FLAGS = {
  "dry-run": "boolean",
  preview: "boolean",
  job: "string",
  "stop-on-error": "boolean",
  "auto-commit": "boolean",
  atomic: "boolean",
  "allow-net": "boolean",
  group: "string",
} as const;

/** `apply [FILE|-]`: a patch, carried out as one job; or, with `--job`, exactly a preview that was kept. */
export async function apply(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, "apply", args, FLAGS, 1);
  const worker = await openFromFlags(program, flags);
  await mendFirst(program, worker);
  if (typeof flags.values.job === "string") return applyPreview(program, worker, flags, flags.values.job);
  const patch = readPatch(program, worker, flags.words[0]);
  if (patch === null) return EXIT.usage;
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop).once("SIGHUP", stop);
  const json = flags.values.json === true;
  const { worker: settings } = worker.config;
  const progress = createProgress(program, worker.messages, !json && program.errIsTerminal);
  const execution = await worker.execute({
    patch,
    source: "cli",
    dryRun: flags.values["dry-run"] === true || settings.dry_run,
    preview: flags.values.preview === true,
    atomic: flags.values.atomic === true,
    stopOnError: flags.values["stop-on-error"] === true || settings.stop_on_error,
    autoCommit: flags.values["auto-commit"] === true || settings.auto_commit,
    signal: abort.signal,
    ...(typeof flags.values.group === "string" && { groupId: flags.values.group }),
    onEvent: progress.event,
    onOutput: progress.output,
  });
  progress.end();
  return reportExecution(program, worker, execution, json);
}

function readPatch(program: CliProgram, { messages }: OpenWorker, name: string | undefined): string | null {
  if ((name === undefined || name === "-") && program.inIsTerminal) {
    program.err(`${messages.noInput}\n`);
    return null;
  }
  let bytes: Uint8Array;
  try {
    bytes =
      name === undefined || name === "-"
        ? program.readInput()
        : program.readFile(name.startsWith("/") ? name : `${program.cwd}/${name}`);
  } catch (error) {
    const code = (error as { code?: string }).code;
    const trouble =
      code === "EISDIR" ? "is-directory" : code === "EACCES" ? "permission-denied" : "not-found";
    program.err(`${messages.fileTrouble(trouble, name ?? "-")}\n`);
    return null;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    program.err(`${messages.fileTrouble("not-text", name ?? "-")}\n`);
    return null;
  }
}

async function applyPreview(
  program: CliProgram,
  worker: OpenWorker,
  flags: Flags,
  jobId: string,
): Promise<number> {
  const { messages, archive } = worker;
  const job = archive.read(jobId);
  const outcome = await worker.commitPreview(jobId);
  const after = archive.read(jobId);
  if (flags.values.json === true) {
    program.out(
      `${JSON.stringify({ job_id: jobId, success: outcome.status === "done", ...outcome, undo: outcome.status === "done" ? "available" : "none" })}\n`,
    );
  }
  const say = flags.values.json === true ? () => {} : program.out;
  switch (outcome.status) {
    case "done":
      if (job !== null) archive.save({ ...job, outcome: "committed" });
      archive.append(jobId, { type: "committed", changes: outcome.changes.length });
      say(`${messages.previewApplied(jobId)}\n${messages.undoHint(jobId)}\n`);
      return EXIT.done;
    case "conflict":
      program.err(
        `${messages.commitConflict({ jobId, paths: outcome.conflicts.map(({ path }) => path) })}\n`,
      );
      return EXIT.failed;
    case "refused":
      program.err(
        `${outcome.reason === "busy" ? messages.workspaceBusy(worker.workspace) : after === null ? messages.unknownJob(jobId) : messages.notAPreview(jobId)}\n`,
      );
      return outcome.reason === "busy" ? EXIT.refused : EXIT.usage;
  }
}
