import type { Opened } from "../../application/ports/opening.ts";
import type { Subcommand } from "./command.ts";
import { fail } from "./fail.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { createProgress } from "./progress.ts";
import { repairFirst } from "./repair-first.ts";
import { reportExecution } from "./report-execution.ts";

/** `apply [FILE|-]`: a patch, carried out as one job; or, with `--job`, exactly a preview that was kept. */
export const command: Subcommand = {
  name: "apply",
  usage: "apply [FILE|-]",
  flags: {
    "dry-run": "boolean",
    preview: "boolean",
    job: "string",
    "stop-on-error": "boolean",
    atomic: "boolean",
    "auto-commit": "boolean",
    group: "string",
    "allow-net": "boolean",
  },
  words: 1,
  run: apply,
};

async function apply(program: CliProgram, args: readonly string[]): Promise<number> {
  const { values, words } = await readFlags(program, command, args);
  const json = values.json === true;
  const opened = await openFromFlags(program, { values, words });
  const { worker: settings } = opened.config;
  const dryRun = values["dry-run"] === true || settings.dry_run;
  if (typeof values.job === "string") {
    if (words.length > 0 || values.preview === true) {
      const text = opened.messages.usageError(`--job ${values.job} ${words[0] ?? "--preview"}`);
      return fail(program, json, { exitCode: EXIT.usage, code: "usage", text });
    }
    await repairFirst(program, opened);
    const { applyPreview } = await import("./apply-preview.ts");
    return applyPreview(program, opened, values.job, { dryRun, json });
  }
  const read = readPatch(program, opened, words[0]);
  if (!read.ok)
    return fail(program, json, { exitCode: EXIT.usage, code: "unreadable-patch", text: read.text });
  await repairFirst(program, opened);
  const abort = new AbortController();
  const stop = () => abort.abort();
  for (const signal of STOPPING) process.once(signal, stop);
  const progress = createProgress(program, opened, !json && program.errIsTerminal);
  try {
    const execution = await opened.workspace.execute({
      patch: read.patch,
      source: "cli",
      sessionKey: "cli:default",
      dryRun,
      preview: values.preview === true,
      allowNetwork: values["allow-net"] === true,
      atomic: values.atomic === true,
      stopOnError: values["stop-on-error"] === true || settings.stop_on_error,
      autoCommit: values["auto-commit"] === true || settings.auto_commit,
      signal: abort.signal,
      ...(typeof values.group === "string" && values.group !== "" && { groupId: values.group }),
      onEvent: progress.event,
      onOutput: progress.output,
    });
    progress.end();
    return reportExecution(program, opened, execution, json);
  } finally {
    for (const signal of STOPPING) process.off(signal, stop);
  }
}

/** The first of these ends the job and takes it back; a second one ends the program. */
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type PatchInput =
  | { readonly ok: true; readonly patch: string }
  | { readonly ok: false; readonly text: string };

function readPatch(program: CliProgram, { messages }: Opened, name = "-"): PatchInput {
  const fromInput = name === "-";
  if (fromInput && program.inIsTerminal) return { ok: false, text: messages.noInput };
  let bytes: Uint8Array;
  try {
    bytes = fromInput
      ? program.readInput()
      : program.readFile(name.startsWith("/") ? name : `${program.cwd}/${name}`);
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (fromInput) return { ok: false, text: messages.noInput };
    const trouble =
      code === "EISDIR" ? "is-directory" : code === "EACCES" ? "permission-denied" : "not-found";
    return { ok: false, text: messages.fileTrouble(trouble, name) };
  }
  try {
    const patch = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (patch.trim() !== "") return { ok: true, patch };
    return { ok: false, text: fromInput ? messages.noInput : messages.emptyPatch(name) };
  } catch {
    return { ok: false, text: messages.fileTrouble("not-text", name) };
  }
}
