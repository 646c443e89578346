import { resolve } from "node:path";
import type { TaskRun } from "../../application/ports/tasks.ts";
import type { ReadTaskFile } from "../../config/task-file.ts";
import {
  keptJob,
  landedJobs,
  lastTest,
  nameRunJob,
  passes,
  type TaskRecord,
} from "../../domain/tasks/task-record.ts";
import { listProblems, problemFacts } from "../../domain/texts/config-problem.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { taskMessagesFor } from "../../domain/texts/tasks.ts";
import {
  abortable,
  type Flags,
  fail,
  printable,
  readText,
  refuseInput,
  refuseUsage,
  type Subcommand,
} from "./command.ts";
import { openOrStop, Stop } from "./flags.ts";
import { createTaskProgress } from "./live-progress.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { repairFirst } from "./repair-first.ts";

/** `run [TASK.yaml|-]`: a task file, carried out by a worker CLI in a container until it is done. */
export const command: Subcommand = {
  name: "run",
  usage: "run [TASK.yaml|-]",
  flags: "--no-meta --preview --follow --resume= --print-schema",
  words: 1,
  run: run,
};

async function run(program: CliProgram, flags: Flags): Promise<number> {
  const { values } = flags;
  if (values["print-schema"] === true) {
    const { taskFileJsonSchema } = await import("../../config/task-file.ts");
    program.out(`${JSON.stringify(taskFileJsonSchema(), null, 2)}\n`);
    return EXIT.done;
  }
  const texts = taskMessagesFor(program.locale);
  if (values.preview === true && values["no-meta"] !== true)
    return refuseUsage(program, texts.previewNeedsNoMeta);
  const resume = typeof values.resume === "string" ? values.resume : undefined;
  const given = resume === undefined ? readSource(program, flags) : undefined;
  const first = given && (await readCheckedTask(program, given.text, given.name));
  const base = typeof values.workspace === "string" ? resolve(program.cwd, values.workspace) : program.cwd;
  const workspace = resolve(base, first?.file.task.repo ?? ".");
  const opened = await openOrStop(program, { ...values, workspace }, program.openTasks);
  const { tasks } = opened;
  const source = given?.text ?? tasks.sourceOf(resume ?? "");
  if (source === null) return refuseInput(program, "unknown-task", tasks.texts.unknownTask(resume ?? ""));
  const task = first ?? (await readCheckedTask(program, source, `task ${resume}`));
  await repairFirst(program, opened);
  const follow = values.follow === true && !program.json;
  const progress = createTaskProgress(program, tasks.texts, {
    follow,
    line: !program.json && !follow && program.errIsTerminal,
  });
  try {
    const ran = await abortable((signal) =>
      tasks.run({
        ...(resume !== undefined && { resume }),
        ...task,
        source,
        noMeta: values["no-meta"] === true,
        preview: values.preview === true,
        signal,
        onRecord: progress.record,
        onProgress: progress.worker,
      }),
    );
    progress.end();
    return report(program, tasks.texts, ran);
  } finally {
    progress.end();
  }
}

function readSource(program: CliProgram, { words }: Flags): { readonly text: string; readonly name: string } {
  const [name] = words;
  const { locale } = program;
  const refuse = (text: string) => new Stop(refuseInput(program, "unreadable-task", text));
  if (name === undefined) throw refuse(taskMessagesFor(locale).noTaskFile);
  const messages = messagesFor(locale);
  if (name === "-" && program.inIsTerminal) program.err(`${taskMessagesFor(locale).typeTask}\n`);
  const read = readText(program, name);
  if (typeof read === "object")
    return { text: read.text.replace(/^\ufeff/, ""), name: name === "-" ? "stdin" : name };
  throw refuse(messages.fileTrouble(read, name === "-" ? messages.standardInput : name));
}

async function readCheckedTask(
  program: CliProgram,
  text: string,
  name: string,
): Promise<Extract<ReadTaskFile, { ok: true }>> {
  // With the library of schemas, which no other command needs.
  const { readTaskFile } = await import("../../config/task-file.ts");
  const read = readTaskFile(text, name, program.env);
  if (read.ok) return read;
  const { locale } = program;
  const lines = [
    taskMessagesFor(locale).taskInvalid(name),
    ...listProblems(messagesFor(locale), read.problems),
  ];
  const failure = {
    exitCode: EXIT.usage,
    code: "task-file",
    text: lines.join("\n  "),
    facts: problemFacts(read.problems),
  };
  throw new Stop(fail(program, failure));
}

/** Nothing ran in these cases. */
const BEFORE_RUNNING = new Set(["engine", "image", "container", "credentials", "cannot-run"]);
const SHOWN_OUTPUT = 4000;

/** The failing tests at the end, with the head and tail of their output. */
function failingTest(record: TaskRecord, texts: ReturnType<typeof taskMessagesFor>): string {
  const test = lastTest(record);
  if (test === undefined || passes(test)) return "";
  const output = printable(cutMiddle(test.output.trimEnd(), SHOWN_OUTPUT));
  return `${texts.failingTest(test.command, test.exitCode, output.replace(/^/gm, "    "))}\n`;
}

function report(program: CliProgram, texts: ReturnType<typeof taskMessagesFor>, ran: TaskRun): number {
  if (!ran.ok) {
    const exitCode = ran.code === "no-model" || ran.code === "task-busy" ? EXIT.refused : EXIT.usage;
    return fail(program, { exitCode, code: ran.code, text: ran.text });
  }
  const { record, interrupted, note } = ran;
  const jobs = landedJobs(record).map(nameRunJob);
  const kept = keptJob(record);
  const keptWords = kept === null ? "" : `  ${texts.keptRed(nameRunJob(kept))}\n`;
  if (program.json) program.out(ran.json);
  else if (interrupted) program.err(`${texts.interrupted(record.facts.id)}\n${keptWords}`);
  else {
    const { state, facts, end } = record;
    for (const each of record.notes) program.err(`${each}\n`);
    const text = `${texts.ended({ state, id: facts.id, summary: end?.summary ?? "", note, jobs })}\n`;
    if (state === "COMPLETE") program.out(`${text}${keptWords}`);
    else program.err(`${text}${failingTest(record, texts)}`);
  }
  if (record.state === "COMPLETE") return EXIT.done;
  const ranNothing = record.loops.every(({ run: each }) => each === undefined);
  return ranNothing && BEFORE_RUNNING.has(record.end?.code ?? "") ? EXIT.refused : EXIT.failed;
}
