import { nearestName } from "../../domain/platform/nearest.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { type HelpMessages, helpMessagesFor } from "../../domain/texts/cli.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import type { CommandLine } from "./command.ts";
import { wrapWords } from "./terminal-text.ts";

export { nearestName };

type Described = Pick<CommandLine, "name" | "usage">;
type Environment = Readonly<Record<string, string | undefined>>;

/** Commands grouped by purpose; a command in none of the groups is listed last. */
export const GROUPS: readonly (readonly [title: keyof HelpMessages["groups"], names: readonly string[]])[] = [
  ["begin", ["init", "login", "demo", "doctor"]],
  ["ask", ["chat", "solve", "run"]],
  [
    "changes",
    ["apply", "discard", "undo", "redo", "jobs", "show", "diff", "why", "bisect", "compare", "stop", "ps"],
  ],
  ["serve", ["serve", "join", "fleet", "pair", "mcp", "acp"]],
  ["tools", ["tool", "tools", "env", "images"]],
];

const LEFT = 22;

export function help(env: Environment, listed: readonly Described[], columns: number): string {
  const { usage, commands, common, version, exitCodes, groups } = helpMessagesFor(resolveLocale({ env }));
  const rowOf = ({ name, usage: written }: Described) => row(written, commands[name].does, columns);
  const known = new Set<string>(GROUPS.flatMap(([, names]) => names));
  const sections = [
    ...GROUPS.map(([title, names]) => ({
      title,
      rows: names.flatMap((name) => listed.filter((one) => one.name === name)).map(rowOf),
    })),
    { title: "rest" as const, rows: listed.filter(({ name }) => !known.has(name)).map(rowOf) },
  ];
  return `${[
    usage,
    ...sections.flatMap(({ title, rows }) => ["", `${groups[title]}:`, ...rows]),
    "",
    ...flagRows(common, columns),
    row("--version", version, columns),
    "",
    wrapWords(exitCodes, columns),
  ].join("\n")}\n`;
}

export function commandHelp(env: Environment, { name, usage }: Described, columns: number): string {
  const { commands, common } = helpMessagesFor(resolveLocale({ env }));
  const { does, ...flags } = commands[name];
  const lines = [
    `picoclaw ${usage}`,
    wrapWords(`  ${does}`, columns, "  "),
    "",
    ...flagRows({ ...flags, ...common }, columns),
  ];
  return `${lines.join("\n")}\n`;
}

export function unknownCommand(env: Environment, name: string, known: readonly string[]): string {
  const locale = resolveLocale({ env });
  const messages = messagesFor(locale);
  const { help: first, helpMore } = chatMessagesFor(locale);
  const inChat = [...first, ...helpMore].flatMap(([line]) => line.match(/(?<=\/)[a-z]+/g) ?? []);
  const near = nearestName(name, [...known, ...inChat]) ?? null;
  const call = near === null || known.includes(near) ? near : `picoclaw chat /${near}`;
  return `${messages.unknownCommand(name, call)}\n${messages.allCommands}`;
}

function flagRows(flags: Readonly<Record<string, string>>, columns: number): string[] {
  return Object.entries(flags).map(([flag, does]) => row(flag, does, columns));
}

function row(left: string, right: string, columns: number): string {
  const indent = " ".repeat(LEFT + 2);
  if (left.length < LEFT) return wrapWords(`  ${left.padEnd(LEFT)}${right}`, columns, indent);
  return `  ${left}\n${wrapWords(`${indent}${right}`, columns, indent)}`;
}
