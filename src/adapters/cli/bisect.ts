import { bisectJobs } from "../../application/history/earlier-draft.ts";
import { nameJobId } from "../../application/jobs/job-facts.ts";
import { quoteWords } from "../../domain/platform/paths.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import {
  abortable,
  type Flags,
  printable,
  printJson,
  refuseInput,
  refuseUsage,
  refuseWork,
  type Subcommand,
} from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { describeJob } from "./show.ts";

/** `bisect -- COMMAND`: the first job, or change by hand, after which a command fails. */
export const command: Subcommand = {
  name: "bisect",
  usage: "bisect -- COMMAND",
  flags: "--timeout= --at-once=",
  words: 256,
  run: bisect,
};

const [DEFAULT_SECONDS, DEFAULT_AT_ONCE, MOST_AT_ONCE] = [600, 3, 16];

async function bisect(program: CliProgram, { values, words }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, program.openHistory);
  const { history, messages, workspace } = opened;
  const texts = historyMessagesFor(messages.locale);
  const [line = "", ...rest] = words;
  const [seconds, atOnce] = [
    Number(values.timeout ?? DEFAULT_SECONDS),
    Number(values["at-once"] ?? DEFAULT_AT_ONCE),
  ];
  const isUsable =
    line !== "" && seconds > 0 && Number.isInteger(atOnce) && atOnce > 0 && atOnce <= MOST_AT_ONCE;
  if (!isUsable) return refuseUsage(program, texts.bisectUsage);
  const stack = history.stack();
  const stopWithout = () => refuseInput(program, "no-jobs", texts.noJobs);
  if (stack.jobs.length === 0) return stopWithout();
  const name = (jobId: string) => nameJobId(workspace.archive, jobId);
  if (!program.json) program.err(`${texts.bisectStart(stack.jobs.length)}\n`);
  const probe = (signal: AbortSignal) =>
    bisectJobs(workspace, stack, {
      // One word is a line for the shell, several are a program and its arguments.
      command: rest.length === 0 ? line : quoteWords(words),
      timeoutSeconds: seconds,
      atOnce,
      signal,
      onProbe: ({ after, verdict }) => {
        if (!program.json) program.err(`${texts.probe(after && name(after), verdict)}\n`);
      },
    });
  const end = await abortable(probe, ["SIGINT"]);
  if (program.json) {
    printJson(program, snakeCased(end));
    return end.kind === "found" || end.kind === "passes-now" ? EXIT.done : EXIT.failed;
  }
  const say = (...lines: readonly string[]) => program.out(`${printable(lines.join("\n"))}\n`);
  switch (end.kind) {
    case "found": {
      const { culprit, skipped, probes } = end;
      if (culprit.kind === "by-hand") {
        const paths = [...new Set(culprit.edits.map(({ path }) => path))];
        say(texts.foundByHand(paths, name(culprit.edits[0]?.after ?? "")));
      } else {
        const job = workspace.archive.read(culprit.jobId);
        say(
          texts.found(name(culprit.jobId), probes),
          ...(skipped.length === 0 ? [] : [texts.skipped(skipped.map(name))]),
          "",
          job === null ? "" : describeJob(opened, job, { all: false }),
          texts.undoHint(name(culprit.jobId)),
        );
      }
      return EXIT.done;
    }
    case "passes-now":
      say(texts.passesNow);
      return EXIT.done;
    case "fails-before":
      say(texts.failsBefore(end.jobs));
      return EXIT.failed;
    case "no-jobs":
      return stopWithout();
    case "cannot-run":
      return refuseWork(program, "cannot-run", texts.cannotRun(end.message));
  }
}
