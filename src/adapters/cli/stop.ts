import type { Subcommand } from "./command.ts";
import { fail } from "./fail.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `stop JOB`: ends a running job, with everything that it runs; nothing of it is applied. */
export const command: Subcommand = {
  name: "stop",
  usage: "stop JOB",
  flags: {},
  words: 1,
  run: stop,
};

async function stop(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const json = flags.values.json === true;
  const opened = await openFromFlags(program, flags);
  const { messages } = opened;
  const [jobId] = flags.words;
  if (jobId === undefined) {
    const text = messages.usageError("picoclaw stop JOB");
    return fail(program, json, { exitCode: EXIT.usage, code: "usage", text });
  }
  const stopped = await opened.workspace.stop(jobId);
  switch (stopped.status) {
    case "stopped":
      program.out(
        `${json ? JSON.stringify({ success: true, job_id: jobId }) : messages.jobStopped(jobId)}\n`,
      );
      return EXIT.done;
    case "unknown":
      return fail(program, json, {
        exitCode: EXIT.usage,
        code: "unknown-job",
        text: messages.unknownJob(jobId),
      });
    case "not-running":
      return fail(program, json, {
        exitCode: EXIT.refused,
        code: "not-running",
        text: messages.jobNotRunning(jobId),
        facts: { job_id: jobId, state: stopped.state },
      });
  }
}
