import { isTaskUuid } from "../../domain/containers/container-info.ts";
import { resolveLocale } from "../../config/locale.ts";
import type { EnvironmentMessages } from "../../domain/texts/texts.ts";
import { environmentMessages } from "../../domain/texts/texts.ts";
import { fail } from "./fail.ts";
import { Stop } from "./flags.ts";
import type { Flags } from "./parse-flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

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
  return new Stop(fail(program, values.json === true, { exitCode: EXIT.usage, code: "usage", text }));
}

/** Before the configuration is read, only the environment says which language. */
export function environmentTexts(program: CliProgram): EnvironmentMessages {
  return environmentMessages(resolveLocale({ env: program.env }));
}
