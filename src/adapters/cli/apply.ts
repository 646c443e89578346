import type { JobEvent } from "../../application/ports/jobs.ts";
import type { OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import type { JobResult, RefusedJob } from "../../domain/jobs/result.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import { reportMessages } from "../../domain/texts/jobs.ts";
import { toResultJson, wordJob, wordRefusal } from "../../domain/texts/jobs-report.ts";
import {
  abortable,
  type Flags,
  fail,
  printable,
  printJson,
  readText,
  refuseInput,
  refuseUsage,
  type Subcommand,
  styleReport,
} from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { createLiveLine, waitedWords } from "./progress-line.ts";
import { repairFirst } from "./repair-first.ts";

/** For a person at a terminal, on standard error: what is about to run, then one line with what runs now. */
function createProgress(program: CliProgram, { messages, workspace: { mask }, config }: OpenedWorkspace) {
  const enabled = !program.json && program.errIsTerminal;
  const begun = performance.now();
  let doing = "";
  const live = createLiveLine(program, {
    enabled,
    render: () => (doing === "" ? "" : `${doing}${waitedWords(begun)}`),
  });
  const line = (text: string) => {
    doing = text;
    live.draw();
  };
  return {
    event(event: JobEvent) {
      if (enabled && event.type === "job_started" && config.worker.show_execution_summary) {
        const { commands: total, file_edits: fileEdits, shell_commands: shellCommands } = event;
        const counts = { total, fileEdits, shellCommands, gitOperations: event.git_operations };
        live.print(messages.executionSummary(counts));
      }
      if (event.type !== "command_started") return;
      const { type, action, target } = event.command;
      line(`… [${event.index + 1}] ${type} ${action} ${oneLine(target)}`);
    },
    output(text: string) {
      const last = text.trimEnd().split("\n").at(-1) ?? "";
      if (last !== "") line(`  ${mask(last)}`);
    },
    end: live.end,
  };
}

/** Says what a job did, from its facts alone, and chooses the exit code. */
async function reportResult(
  program: CliProgram,
  { messages }: OpenedWorkspace,
  result: JobResult,
): Promise<number> {
  if (result.about === "refusal") {
    const status = reportMessages(messages.locale).status("refused", 0);
    const text = wordRefusal(messages, result);
    return fail(program, { ...failureOf(result), text: program.json ? text : `${status}\n${text}` });
  }
  for (const warning of result.warnings ?? []) program.err(`${messages.warningLabel} ${warning}\n`);
  if (program.json) printJson(program, toResultJson(messages, result));
  else program.out(`${await styleReport(program, printable(wordJob(messages, result)), result.status)}\n`);
  return result.success ? EXIT.done : EXIT.failed;
}

function failureOf({ why }: RefusedJob) {
  if (why.kind === "not-a-patch") {
    const { kind: _, code, message: __, ...facts } = why;
    return { exitCode: EXIT.usage, code, facts };
  }
  const { refusal } = why;
  const facts = refusal.code === "auto-commit" ? { cause: refusal.cause } : {};
  return { exitCode: EXIT.refused, code: refusal.code, facts };
}

/** `apply [FILE|-]`: a patch, carried out as one job; or, with `--job`, exactly a preview that was kept. */
export const command: Subcommand = {
  name: "apply",
  usage: "apply [FILE|-]",
  flags: "--dry-run --preview --job= --stop-on-error --atomic --auto-commit --group= --allow-net",
  words: 1,
  run: apply,
};

async function apply(program: CliProgram, { values, words }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, program.openWorkspace);
  const { worker: settings } = opened.config;
  const dryRun = values["dry-run"] === true || settings.dry_run;
  if (typeof values.job === "string") {
    if (words.length > 0 || values.preview === true)
      return refuseUsage(program, opened.messages.notTogether(["--job", words[0] ?? "--preview"]));
    await repairFirst(program, opened);
    return (await import("./undo.ts")).applyPreview(program, opened, values.job, dryRun);
  }
  const read = readPatch(program, opened, words[0]);
  if ("refusal" in read) return refuseInput(program, "unreadable-patch", read.refusal);
  await repairFirst(program, opened);
  const progress = createProgress(program, opened);
  try {
    const result = await abortable((signal) =>
      opened.workspace.execute({
        patch: read.patch,
        source: "cli",
        startedBy: "user",
        sessionKey: "cli:default",
        dryRun,
        preview: values.preview === true,
        allowNetwork: values["allow-net"] === true,
        atomic: values.atomic === true,
        stopOnError: values["stop-on-error"] === true || settings.stop_on_error,
        autoCommit: values["auto-commit"] === true || settings.auto_commit,
        signal,
        ...(typeof values.group === "string" && values.group !== "" && { groupId: values.group }),
        onEvent: progress.event,
        onOutput: progress.output,
      }),
    );
    progress.end();
    return await reportResult(program, opened, result);
  } finally {
    progress.end();
  }
}

/** Else why it cannot be read. */
function readPatch(
  program: CliProgram,
  { messages }: OpenedWorkspace,
  name = "-",
): { readonly patch: string } | { readonly refusal: string } {
  if (name === "-" && program.inIsTerminal) return { refusal: messages.noInput };
  const read = readText(program, name);
  // An empty patch has no commands and succeeds.
  if (typeof read === "object") return { patch: read.text.trim() === "" ? "" : read.text };
  if (name !== "-" || read === "not-text") return { refusal: messages.fileTrouble(read, name) };
  const isLarge = read === "too-large";
  return { refusal: isLarge ? messages.fileTrouble(read, messages.standardInput) : messages.noInput };
}
