import { z } from "zod";
import { WORKER_KIND_NAMES } from "../domain/config/worker-kind-names.ts";

const optionalLine = (description: string) => z.string().min(1).optional().meta({ description });

const task = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)
      .optional()
      .meta({
        description: "Names the container and the note. Default: made up.",
        shown: "letters, digits, _ . and -, at most 64",
      }),
    title: optionalLine("One line that says what it is about."),
    repo: z
      .string()
      .min(1)
      .default(".")
      .meta({ description: "The folder to work on, from --workspace or the current one." }),
    description: z.string().optional().meta({ description: "More about it, for people." }),
    prd: z
      .union([
        z.strictObject({ path: z.string().min(1), text: z.undefined().optional() }),
        z.strictObject({ text: z.string().min(1), path: z.undefined().optional() }),
      ])
      .meta({
        description: "What is asked for: a file (from repo), or the text itself.",
        shown: "{ path: FILE } or { text: TEXT }",
      }),
    test: z
      .strictObject({
        command: z
          .string()
          .min(1)
          .meta({ description: "Run in the container after each worker run; 0 is success." }),
        cwd: optionalLine("Where, from the repository's top. Default: the top."),
      })
      .optional(),
  })
  .meta({ description: "What to do." });

const seconds = (value: number, description: string) =>
  z.number().int().min(1).max(604_800).default(value).meta({ description });

const runner = z
  .strictObject({
    max_loops: z
      .number()
      .int()
      .min(1)
      .max(1000)
      .default(10)
      .meta({ description: "Decisions of the planning model at most." }),
    max_total_time_sec: seconds(14_400, "Seconds for everything together."),
    meta: z
      .strictObject({
        model: z
          .enum(["coder1", "coder2", "coder3", "chat", "worker"])
          .optional()
          .meta({ description: "The role whose model plans. Default: the default coder." }),
        system_prompt: optionalLine("Put before the planning model's own instructions."),
      })
      .prefault({}),
    worker: z.strictObject({
      kind: z.enum(WORKER_KIND_NAMES).meta({ description: "Which worker CLI does the work." }),
      environment: optionalLine(
        "The environment it works in, by its name in command_executor.environments. Default: by the project's files.",
      ),
      docker_image: optionalLine("An image that has the worker CLI, instead of the environment's."),
      max_run_time_sec: seconds(1800, "Seconds one run may take."),
      env: z
        .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
        .default({})
        .meta({ description: "Variables for the worker; `env:NAME` takes the host's variable NAME." }),
    }),
  })
  .meta({ description: "How to do it." });

/** A task file, as `picoclaw run` reads it. */
export const taskFileSchema = z
  .strictObject({
    version: z.literal(1).meta({ description: "The version of this format.", shown: "1" }),
    task,
    runner,
  })
  .meta({ title: "PicoClaw task file" });

export type TaskFile = z.output<typeof taskFileSchema>;
