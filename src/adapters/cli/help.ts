import { resolveLocale } from "../../config/locale.ts";
import { nearest } from "../../config/nearest.ts";
import { messagesFor } from "../../domain/texts/messages.ts";
import { textsFor } from "../../domain/texts/texts.ts";
import type { CommandLine } from "./command.ts";

export { nearest };

type Described = Pick<CommandLine, "name" | "usage">;
type Environment = Readonly<Record<string, string | undefined>>;
/** Commands in the order of the table. */
export function help(env: Environment, listed: readonly Described[]): string {
  const { usage, commands, common, version, exitCodes } = textsFor(resolveLocale({ env })).help;
  const rows = listed.map(({ name, usage: written }) => row(written, commands[name].does));
  return `${[usage, "", ...rows, "", ...flagRows(common), row("--version", version), "", exitCodes].join("\n")}\n`;
}

export function commandHelp(env: Environment, { name, usage }: Described): string {
  const { commands, common } = textsFor(resolveLocale({ env })).help;
  const { does, flags } = commands[name];
  return `${[`picoclaw ${usage}`, `  ${does}`, "", ...flagRows({ ...flags, ...common })].join("\n")}\n`;
}

export function unknownCommand(env: Environment, name: string, known: readonly string[]): string {
  const messages = messagesFor(resolveLocale({ env }));
  return `${messages.unknownCommand(name, nearest(name, known))}\npicoclaw --help`;
}

function flagRows(flags: Readonly<Record<string, string>>): string[] {
  return Object.entries(flags).map(([flag, does]) => row(flag, does));
}

function row(left: string, right: string): string {
  return `  ${left.padEnd(22)}${right}`;
}
