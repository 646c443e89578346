import type { OpenEnvironments } from "../../application/containers/open-environments.ts";
import type { SandboxFailure } from "../../application/ports/containers.ts";
import { resolveLocale } from "../../config/environment.ts";
import { listProblems, problemFacts } from "../../domain/config/config-problem.ts";
import { isTaskUuid } from "../../domain/containers/environments.ts";
import { type EnvironmentMessages, environmentMessages } from "../../domain/texts/containers.ts";
import { type Flags, fail, refuseUsage } from "./command.ts";
import { Stop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** Opens the environments of the workspace that the common flags name, or reports why it cannot and stops. */
export async function openEnvironments(
  program: CliProgram,
  values: Flags["values"],
): Promise<OpenEnvironments> {
  const opened = await program.openEnvironments({
    cwd: program.cwd,
    ...(typeof values.workspace === "string" && { workspace: values.workspace }),
    ...(typeof values.config === "string" && { configFile: values.config }),
  });
  if (!opened.ok) {
    const { messages, problems, message = "", exitCode } = opened;
    const text =
      problems.length > 0
        ? [messages.configInvalid, ...listProblems(messages, problems)].join("\n  ")
        : message;
    throw new Stop(
      fail(program, values.json === true, {
        exitCode,
        code: "configuration",
        text,
        facts: problemFacts(problems),
      }),
    );
  }
  const { environments } = opened;
  const { messages } = environments;
  for (const warning of environments.warnings)
    program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  return environments;
}

/** The first of these ends the work and leaves nothing; a second one ends the program. */
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function abortable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  for (const signal of STOPPING) process.once(signal, stop);
  try {
    return await work(abort.signal);
  } finally {
    for (const signal of STOPPING) process.off(signal, stop);
  }
}

/** A container's failure in the common form: nothing ran. */
export function failedEngine(
  program: CliProgram,
  json: boolean,
  { texts }: OpenEnvironments,
  { code, detail }: SandboxFailure,
): number {
  const remedy = code === "engine-unreachable" ? `\n${texts.remedy("start-docker", "")}` : "";
  return fail(program, json, {
    exitCode: EXIT.refused,
    code,
    text: `${texts.failure("engine", code, detail)}${remedy}`,
  });
}

/** The task that `--task` names; without one, or with one that cannot be, it says so and stops. */
export function taskFlag(program: CliProgram, values: Flags["values"]): string {
  const given = requiredFlag(program, values, "task");
  const texts = environmentTexts(program);
  if (!isTaskUuid(given)) throw usageStop(program, values, texts.badTask(given));
  return given;
}

export function requiredFlag(program: CliProgram, values: Flags["values"], name: string): string {
  const given = values[name];
  if (typeof given === "string" && given !== "") return given;
  throw usageStop(program, values, environmentTexts(program).missingOption(`--${name}`));
}

export function usageStop(program: CliProgram, values: Flags["values"], text: string): Stop {
  return new Stop(refuseUsage(program, values.json === true, text));
}

/** Before the configuration is read, only the environment says which language. */
export function environmentTexts(program: CliProgram): EnvironmentMessages {
  return environmentMessages(resolveLocale({ env: program.env }));
}
