import { z } from "zod";
import { WORKER_KIND_NAMES } from "../domain/config/configured-kinds.ts";
import type { ConfigProblem, FilePosition } from "../domain/texts/config-problem.ts";
import type { Origin, SchemaNode } from "./keys.ts";
import { getAt } from "./tree.ts";
import { validateSettings } from "./validate.ts";
import { parseYamlTree } from "./yaml-tree.ts";

const optionalLine = (description: string) => z.string().min(1).optional().meta({ description });

const task = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)
      .optional()
      .meta({
        description: "Name of the container and of the note. Default: generated.",
        shown: "letters, digits, _ . and -, at most 64",
      }),
    title: optionalLine("One line that says what it is about."),
    repo: z
      .string()
      .min(1)
      .default(".")
      .meta({ description: "The folder to work on, from --workspace or the current one." }),
    description: z.string().optional().meta({ description: "A longer description, for people." }),
    prd: z
      .union([z.strictObject({ path: z.string().min(1) }), z.strictObject({ text: z.string().min(1) })])
      .meta({
        description: "What is asked for: a file (from repo), or the text itself.",
        shown: "{ path: FILE } or { text: TEXT }",
      }),
    test: z
      .strictObject({
        command: z.string().min(1).meta({
          description:
            "Command that runs in the container after each run of the worker; exit status 0 is success.",
        }),
        cwd: optionalLine("The folder it runs in, relative to the top of the repository. Default: the top."),
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
      .meta({ description: "Most decisions of the planning model." }),
    max_total_time_sec: seconds(14_400, "Time limit for the whole task, in seconds."),
    meta: z
      .strictObject({
        model: z
          .enum(["coder1", "coder2", "coder3", "chat", "worker"])
          .optional()
          .meta({ description: "The role whose model plans. Default: the default coder." }),
        system_prompt: optionalLine("Put before the planning model's own instructions."),
      })
      .prefault({}),
    worker: z
      .strictObject({
        kind: z
          .enum(WORKER_KIND_NAMES)
          .optional()
          .meta({ description: "Which worker CLI does the work. Default: the one of roles.coder.head." }),
        environment: optionalLine(
          "The environment it works in, by its name in command_executor.environments. Default: by the project's files.",
        ),
        docker_image: optionalLine("An image that has the worker CLI, instead of the environment's."),
        max_run_time_sec: seconds(1800, "Time limit for one run of the worker, in seconds."),
        env: z
          .record(
            z
              .string()
              .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
              .meta({ shown: "a variable's name" }),
            z.string(),
          )
          .default({})
          .meta({ description: "Variables for the worker; `env:NAME` takes the host's variable NAME." }),
      })
      .prefault({}),
  })
  .meta({ description: "How to do it." });

const taskFileSchema = z
  .strictObject({
    version: z.literal(1).meta({ description: "The version of this format.", shown: "1" }),
    task,
    runner,
  })
  .meta({ title: "PicoClaw task file" });

const INPUT = { io: "input" } as const;

export type TaskFile = z.output<typeof taskFileSchema>;

export type ReadTaskFile =
  | {
      readonly ok: true;
      readonly file: TaskFile;
      /** `runner.worker.env` with every reference replaced. */
      readonly workerEnv: Readonly<Record<string, string>>;
      /** Values from the host's environment: they are treated as secrets. */
      readonly secrets: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

type Environment = Readonly<Record<string, string | undefined>>;

/** Strict: an unknown key names the nearest known one, and each problem its place in the file. */
export function readTaskFile(text: string, file: string, env: Environment): ReadTaskFile {
  const parsed = parseYamlTree(text, file);
  if (!parsed.ok) return parsed;
  const { tree, positions } = parsed;
  const origin: Origin = {
    position: (key) => positions.get(key) ?? near(positions, key, file),
    variable: () => undefined,
  };
  const result = validateSettings<TaskFile>(
    tree,
    z.toJSONSchema(taskFileSchema, INPUT) as SchemaNode,
    origin,
  );
  if (!result.ok) return result;
  const { config: taskFile } = result;
  const resolved = Object.entries(taskFile.runner.worker.env).map(([name, value]) => {
    const variable = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(value)?.[1];
    return { name, variable, value: variable === undefined ? value : env[variable] };
  });
  const problems = resolved.flatMap(({ name, variable, value }): ConfigProblem[] => {
    if (variable === undefined || (value !== undefined && value !== "")) return [];
    const key = `runner.worker.env.${name}`;
    const at = origin.position(key);
    return [{ code: "unset-reference", key, variable, ...(at && { at }) }];
  });
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    file: taskFile,
    workerEnv: Object.fromEntries(resolved.map(({ name, value }) => [name, value ?? ""])),
    secrets: resolved.flatMap(({ variable, value }) => (variable === undefined || !value ? [] : [value])),
  };
}

export function taskFileJsonSchema(): object {
  const schema = z.toJSONSchema(taskFileSchema, INPUT);
  // `shown` is our own word, for messages.
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === "shown" ? undefined : value))) as object;
}

/** A missing key is reported at the position of its section. */
function near(positions: ReadonlyMap<string, FilePosition>, key: string, file: string): FilePosition {
  for (let at = key.lastIndexOf("."); at > 0; at = key.lastIndexOf(".", at - 1)) {
    const found = positions.get(key.slice(0, at));
    if (found) return found;
  }
  return { file };
}

export interface ProjectSettings {
  readonly rules: readonly string[];
  readonly checkCommand: string | null;
}

/** The settings for work on a cloned project, from its `picoclaw.yaml`: of an untrusted file only those that grant no permissions. */
export async function readProjectSettings(text: string): Promise<ProjectSettings> {
  const parsed = parseYamlTree(text, "picoclaw.yaml");
  const read = (...path: string[]) => (parsed.ok ? getAt(parsed.tree, path) : undefined);
  const rules = read("tasks", "rules");
  const isList = Array.isArray(rules) && rules.every((rule) => typeof rule === "string");
  const commands = [read("checks", "command"), read("tasks", "test_command")];
  const checkCommand = commands.find((command) => typeof command === "string") ?? null;
  return { rules: isList ? rules : [], checkCommand };
}
