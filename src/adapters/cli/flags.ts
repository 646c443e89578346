import type {
  NotOpened,
  OpenedWorkspace,
  Opening,
  OpenOptions,
} from "../../application/ports/jobs-workspace.ts";
import { listProblems, problemFacts } from "../../domain/texts/config-problem.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import { type CommandLine, type Flags, type FlagTypes, fail, parseFlags, refuseUsage } from "./command.ts";
import { type CliProgram, EXIT, type OpenedIndex } from "./program.ts";

/** Flags that every command takes. */
export const COMMON = { workspace: "string", config: "string", json: "boolean", help: "boolean" } as const;

/** A command that ends before it starts: bad usage, `--help`, or no workspace. */
export class Stop extends Error {
  constructor(readonly exitCode: number) {
    super("stop");
  }
}

/** Reads flags strictly; on trouble it says so and stops with exit code 2. */
export async function readFlags(
  program: CliProgram,
  command: CommandLine,
  args: readonly string[],
): Promise<Flags> {
  const types: FlagTypes = { ...COMMON, ...command.flags };
  const messages = messagesFor(resolveLocale({ env: program.env }));
  const wrong = (text: string) =>
    usage(program, args, `${text}\n${messages.usageLines(command.usage, command.name)}`);
  const parsed = parseFlags(args, types);
  if (!parsed.ok) {
    const { problem, flag } = parsed;
    switch (problem) {
      case "missing-value":
        throw wrong(messages.missingValue(flag));
      case "no-value":
        throw wrong(messages.needlessValue(flag.split("=", 1)[0] as string));
      case "unknown": {
        const { nearestName } = await import("./help.ts");
        const known = Object.keys(types).map((name) => `--${name}`);
        throw wrong(messages.unknownFlag(flag, nearestName(flag, known) ?? null));
      }
    }
  }
  const { values, words } = parsed.flags;
  if (values.help === true) {
    program.out((await import("./help.ts")).commandHelp(program.env, command, program.columns()));
    throw new Stop(EXIT.done);
  }
  const most = command.words ?? 0;
  if (words.length > most) throw wrong(messages.unexpectedWords(words.slice(most).join(" ")));
  return { values, words, json: values.json === true };
}

function usage(program: CliProgram, args: readonly string[], text: string): Stop {
  return new Stop(refuseUsage(program, args.includes("--json"), text));
}

/** Opens the workspace that the common flags mean, and prints the configuration's warnings. */
export async function openFromFlags(
  program: CliProgram,
  { values }: Pick<Flags, "values">,
): Promise<OpenedWorkspace> {
  return openOrStop(program, values, program.openWorkspace);
}

/** Opens the index of jobs in the store that the configuration means. */
export async function openIndexFromFlags(
  program: CliProgram,
  { values }: Flags,
): Promise<Extract<OpenedIndex, { ok: true }>> {
  return openedStoreOrStop(program, values, program.openIndex);
}

/** Opens a service that needs the store and no workspace, or reports why it cannot and stops. */
export async function openedStoreOrStop<T extends { readonly ok: true }>(
  program: CliProgram,
  values: Flags["values"],
  open: (options: OpenOptions) => Promise<T | NotOpened>,
): Promise<T> {
  const opened = await open(openOptions(program, values));
  if (!opened.ok) throw notOpened(program, values, opened, "store");
  return opened;
}

/** Opens a service on the workspace that the common flags name, or reports why it cannot and stops. */
export async function openOrStop<T extends Opening>(
  program: CliProgram,
  values: Flags["values"],
  open: (options: OpenOptions) => Promise<T>,
): Promise<Extract<T, { ok: true }>> {
  const opened = await open(openOptions(program, values));
  if (!opened.ok) throw notOpened(program, values, opened, "workspace");
  const { warnings, messages } = opened;
  for (const warning of warnings) {
    // The user's own choice. Each answer of a cloud says so itself, and `config check` lists it; `undo` need not.
    if (warning.code === "cloud-allowed") continue;
    program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  }
  return opened as Extract<T, { ok: true }>;
}

export function openOptions(program: CliProgram, values: Flags["values"]): OpenOptions {
  return {
    cwd: program.cwd,
    ...(typeof values.workspace === "string" && { workspace: values.workspace }),
    ...(typeof values.config === "string" && { configFile: values.config }),
  };
}

export function notOpened(
  program: CliProgram,
  values: Flags["values"],
  { messages, problems, message = "", exitCode }: NotOpened,
  what: "workspace" | "store" | "configuration",
): Stop {
  const text =
    problems.length > 0
      ? [messages.configInvalid, ...listProblems(messages, problems)].join("\n  ")
      : message;
  const [code, facts] = problems.length > 0 ? ["configuration", problemFacts(problems)] : [what, {}];
  return new Stop(fail(program, values.json === true, { exitCode, code, text, facts }));
}

/** `Usage: picoclaw …`, and where to read more. */
export function usageText(program: CliProgram, { name, usage }: { name: string; usage: string }): string {
  return messagesFor(resolveLocale({ env: program.env })).usageLines(usage, name);
}

type Dispatch = (name: string | undefined, args: readonly string[], program: CliProgram) => Promise<number>;

/** `picoclaw --workspace DIR jobs`: common flags may precede the command; for other flags an error names their position. */
export async function flagsFirst(
  program: CliProgram,
  args: readonly string[],
  dispatch: Dispatch,
): Promise<number> {
  const messages = messagesFor(resolveLocale({ env: program.env }));
  const usage = (text: string) => refuseUsage(program, args.includes("--json"), text);
  let at = 0;
  while (args[at]?.startsWith("-")) {
    const [flag = "", value] = (args[at] as string).split("=", 2);
    const name = flag.slice(2);
    if (!flag.startsWith("--") || !Object.hasOwn(COMMON, name))
      return usage(`${messages.optionsBehind(flag)}\n${messages.allCommands}`);
    const takesNext = COMMON[name as keyof typeof COMMON] === "string" && value === undefined;
    if (takesNext && args[at + 1] === undefined) return usage(messages.missingValue(flag));
    at += takesNext ? 2 : 1;
  }
  return dispatch(args[at], [...args.slice(0, at), ...args.slice(at + 1)], program);
}
