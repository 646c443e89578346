import { EngineUnavailable, type SandboxFailure } from "../../application/ports/containers.ts";
import type { OpenEnvironments } from "../../application/ports/containers-opened.ts";
import { isTaskUuid } from "../../domain/containers/environments.ts";
import { type EnvironmentMessages, environmentMessages } from "../../domain/texts/containers.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import { type Flags, refuseUsage, refuseWork } from "./command.ts";
import { notOpened, openOptions, Stop } from "./flags.ts";
import type { CliProgram } from "./program.ts";

/** Does something with the environments of the workspace that the common flags name, and closes them. */
export async function withEnvironments<T>(
  program: CliProgram,
  values: Flags["values"],
  use: (environments: OpenEnvironments) => Promise<T>,
): Promise<T> {
  const opened = await program.openEnvironments(openOptions(program, values));
  if (!opened.ok) throw notOpened(program, values, opened, "configuration");
  const { environments } = opened;
  const { messages } = environments;
  for (const warning of environments.warnings)
    program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  try {
    return await use(environments);
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    throw new Stop(failedEngine(program, values.json === true, environments, error.failure));
  } finally {
    await environments.close();
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
  return refuseWork(program, json, code, `${texts.failure("engine", code, detail)}${remedy}`);
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
