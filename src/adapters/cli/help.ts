import { resolveLocale } from "../../config/locale.ts";
import { nearest } from "../../config/nearest.ts";
import { messagesFor } from "../../domain/texts/messages.ts";
import { type Texts, textsFor } from "../../domain/texts/texts.ts";

export { nearest };

type Environment = Readonly<Record<string, string | undefined>>;
type Described = keyof Texts["help"]["commands"];

/** How each command is written, in the order of `--help`. */
const USAGES: Readonly<Record<Described, string>> = {
  chat: "chat [MESSAGE|-]",
  apply: "apply [FILE|-]",
  undo: "undo [JOB|GROUP]",
  redo: "redo [JOB|GROUP]",
  jobs: "jobs",
  stop: "stop JOB",
  show: "show [JOB]",
  tool: "tool NAME [ARGS|-]",
  tools: "tools",
  solve: "solve URL",
  pair: "pair [CODE]",
  mcp: "mcp",
  env: "env ACTION",
  images: "images build [NAME]",
  serve: "serve [link|token …]",
  run: "run [TASK.yaml|-]",
  init: "init",
  config: "config show|check",
  trust: "trust",
  doctor: "doctor",
  db: "db migrate|status",
  demo: "demo",
};

export function help(env: Environment): string {
  const { usage, commands, common, version, exitCodes } = textsFor(resolveLocale({ env })).help;
  const rows = Object.entries(USAGES).map(([name, written]) =>
    row(written, commands[name as Described].does),
  );
  return `${[usage, "", ...rows, "", ...flagRows(common), row("--version", version), "", exitCodes].join("\n")}\n`;
}

export function commandHelp(env: Environment, command: string): string {
  const { commands, common } = textsFor(resolveLocale({ env })).help;
  const { does, flags } = commands[command as Described];
  const usage = USAGES[command as Described];
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
