import { z } from "zod";
import { createSecureTool } from "../../create-secure-tool.ts";
import { undoWorkspaceJob } from "../../run-job.ts";

const input = z.strictObject({
  job_id: z
    .string()
    .min(1)
    .optional()
    .describe("The job or group to undo, as another tool returned it; absent: the last job"),
});

const output = z.object({
  undone: z.array(z.string()).describe("The jobs that were undone"),
  changes: z.array(z.object({ path: z.string(), kind: z.string() })).describe("The restored paths"),
});

export const undoJob = createSecureTool({
  name: "undo_job",
  title: "Undo a job",
  description:
    "Undoes a job exactly: every file it created, changed or deleted. Later changes are never overwritten but reported as a conflict.",
  input,
  output,
  access: "write",
  destructive: true,
  async run({ args, context }) {
    const name = args.job_id;
    const holder =
      name === undefined
        ? context.workspace
        : ([...context.opened.values()].find(({ archive }) => archive.read(name) !== null) ??
          context.workspace);
    const { job_id, changes } = await context.gate.run(holder.root, () => undoWorkspaceJob(holder, name));
    return { data: { undone: job_id.split(","), changes } };
  },
});
