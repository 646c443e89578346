import { z } from "zod";
import type { CommandResult } from "../../../domain/jobs/result.ts";
import { createSecureTool } from "../../create-secure-tool.ts";
import { jobNotes, runJob } from "../../run-job.ts";
import { ToolError } from "../../tool-result.ts";

const input = z.strictObject({
  command: z.string().min(1).describe("The shell command line to run"),
  working_directory: z
    .string()
    .optional()
    .describe("Folder of the workspace to run it in; by default the workspace itself"),
  timeout: z.number().positive().max(86_400).optional().describe("Seconds before it is ended"),
});

const output = z.object({
  exit_code: z.int().describe("-1 if the command was ended before it finished"),
  stdout: z.string(),
  stderr: z.string(),
  duration_ms: z.number(),
});

export type ExecutionResult = Readonly<z.output<typeof output>>;

/** A shell command as a job: staged, committed as a whole, undoable. */
export const executeCommand = createSecureTool({
  name: "execute_command",
  aliases: ["exec_command", "command-executor_execute_command"],
  title: "Execute a command",
  description:
    "Runs a shell command in the workspace and returns its exit code and output. What it changes in the workspace can be undone with undo_job.",
  input,
  output,
  access: "write",
  destructive: true,
  openWorld: true,
  paths: ["working_directory"],
  refine: ({ command }) => (command.includes("\0") ? "command: contains a NUL byte" : null),
  async run({ args, place, context, signal, onOutput }) {
    const at = args.working_directory ? place("working_directory") : null;
    if (at !== null && at.entry.kind !== "directory")
      throw at.entry.kind === "missing"
        ? new ToolError("NOT_FOUND", `no such folder: ${at.given}`)
        : new ToolError("NOT_A_DIRECTORY", `not a folder: ${at.given}`);
    const workspace = at?.workspace ?? context.workspace;
    const job = () =>
      runJob(context, workspace, {
        tool: "execute_command",
        title: args.command,
        commands: [
          {
            type: "shell_command",
            action: "run",
            target: args.command,
            ...(at !== null && at.path !== "" && { workdir: at.path }),
          },
        ],
        signal,
        more: {
          onOutput,
          ...(args.timeout !== undefined && { commandTimeoutSeconds: args.timeout }),
        },
      });
    const result = await context.commands.run(crypto.randomUUID(), job);
    const [ran] = result.commands;
    if (ran === undefined) throw new ToolError("INTERNAL", "the command left no result");
    const { jobId, changes } = result;
    return {
      data: executionOf(ran),
      job: { job_id: jobId, changes },
      notes: [...restoredBy(ran), ...jobNotes(result)],
    };
  },
});

/** A protected file that the command changed was restored; its other changes are kept. */
function restoredBy({ error }: CommandResult): readonly string[] {
  return error.split("\n").filter((line) => line.endsWith("(restored)"));
}

/** The exit code of the program; where it has none, the last line of stderr says why. */
function executionOf({ process: end, error, duration, reason }: CommandResult): ExecutionResult {
  if (end === undefined) throw new ToolError("REFUSED", error);
  const { exitCode, stdout, stderr } = end;
  const base = { stdout, stderr, duration_ms: duration };
  if (exitCode === null) {
    const why =
      reason?.code === "timeout"
        ? `Command timeout after ${reason.seconds} seconds`
        : `Command execution error: ${error.split("\n", 1)[0]?.split(" (output:", 1)[0]}`;
    return { ...base, exit_code: -1, stderr: stderr === "" ? why : `${stderr.replace(/\n?$/, "\n")}${why}` };
  }
  return { ...base, exit_code: exitCode };
}
