import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  allowedCommandsText,
  type CommandPolicy,
  fillExecutorPrompt,
} from "../../domain/policy/allowed-commands.ts";
import { findInstallation } from "../platform/installation.ts";

/** The template is in the project's root, where people can read and change it. */
export function commandExecutorPrompt(policy: CommandPolicy): string {
  const file = join(findInstallation().folder, "system_prompt_command_executor.txt");
  return fillExecutorPrompt(readFileSync(file, "utf8"), allowedCommandsText(policy));
}
