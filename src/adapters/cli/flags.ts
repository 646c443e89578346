import type { NotOpened, OpenedWorkspace, OpenOptions } from "../../application/ports/jobs-workspace.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { listProblems, problemFacts } from "../../domain/texts/config-problem.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import {
  COMMON,
  type CommandLine,
  type Flags,
  fail,
  flagTypes,
  parseFlags,
  type RunCommand,
  refuseUsage,
} from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** A command that ends before it starts: bad usage, `--help`, or no workspace. */
export class Stop extends Error {
  constructor(readonly exitCode: number) {
    super("stop");
  }
}

/** Reads the flags of a command and runs it. */
export async function runWithFlags(
  program: CliProgram,
  command: CommandLine & { readonly run: RunCommand },
  args: readonly string[],
): Promise<number> {
  const flags = await readFlags(program, command, args);
  return command.run({ ...program, json: flags.values.json === true }, flags);
}

/** Reads flags strictly; on trouble it says so and stops with exit code 2. */
export async function readFlags(
  program: CliProgram,
  command: CommandLine,
  args: readonly string[],
): Promise<Flags> {
  const types = flagTypes(`${COMMON} ${command.flags ?? ""}`);
  const messages = messagesFor(program.locale);
  const wrong = (text: string) =>
    new Stop(refuseUsage(program, `${text}\n${messages.usageLines(command.usage, command.name)}`));
  const parsed = parseFlags(args, types);
  if (!parsed.ok) {
    const { problem, flag } = parsed;
    switch (problem) {
      case "missing-value":
        throw wrong(messages.missingValue(flag));
      case "no-value":
        throw wrong(messages.needlessValue(flag.split("=", 1)[0] as string));
      case "unknown": {
        const { nearestName } = await import("../../domain/platform/nearest.ts");
        const known = Object.keys(types).map((name) => `--${name}`);
        throw wrong(messages.unknownFlag(flag, nearestName(flag, known) ?? null));
      }
    }
  }
  const { values, words } = parsed.flags;
  if (values.help === true) {
    program.out((await import("./help.ts")).commandHelp(program, command));
    throw new Stop(EXIT.done);
  }
  const most = command.words ?? 0;
  if (words.length > most) throw wrong(messages.unexpectedWords(words.slice(most).join(" ")));
  return parsed.flags;
}

/** Opens a service with the common flags, or reports why it cannot and stops. `what` is the code of that error. */
export async function openOrStop<T extends { readonly ok: true } | NotOpened>(
  program: CliProgram,
  values: Flags["values"],
  open: (options: OpenOptions) => Promise<T>,
  what: "workspace" | "store" | "configuration" = "workspace",
): Promise<Extract<T, { ok: true }>> {
  const opened = await open(openOptions(program, values));
  if (!opened.ok) {
    const { messages, problems, message = "", exitCode } = opened;
    if (problems.length === 0) throw new Stop(fail(program, { exitCode, code: what, text: message }));
    const text = [messages.configInvalid, ...listProblems(messages, problems)].join("\n  ");
    throw new Stop(fail(program, { exitCode, code: "configuration", text, facts: problemFacts(problems) }));
  }
  if (what === "workspace") {
    const { warnings, messages } = opened as unknown as OpenedWorkspace;
    // The user's own choice. Each answer of a cloud says so itself, and `config check` lists it; `undo` need not.
    for (const warning of warnings)
      if (warning.code !== "cloud-allowed")
        program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  }
  return opened as Extract<T, { ok: true }>;
}

export function openOptions({ cwd }: CliProgram, { workspace, config }: Flags["values"]): OpenOptions {
  return {
    cwd,
    ...(typeof workspace === "string" && { workspace }),
    ...(typeof config === "string" && { configFile: config }),
  };
}

/** For `await using`: closes at the end of the block. */
export const closing = (opened: { close(): Promise<void> }): AsyncDisposable => ({
  [Symbol.asyncDispose]: () => opened.close(),
});

/** `Usage: picoclaw …`, and where to read more. */
export function usageText(program: CliProgram, { name, usage }: { name: string; usage: string }): string {
  return messagesFor(program.locale).usageLines(usage, name);
}

type Dispatch = (name: string | undefined, args: readonly string[], program: CliProgram) => Promise<number>;

/** `picoclaw --workspace DIR jobs`: common flags may precede the command; for other flags an error names their position. */
export async function flagsFirst(
  program: CliProgram,
  args: readonly string[],
  dispatch: Dispatch,
): Promise<number> {
  const messages = messagesFor(program.locale);
  const usage = (text: string) => refuseUsage({ ...program, json: args.includes("--json") }, text);
  let at = 0;
  while (args[at]?.startsWith("-")) {
    const [flag = "", value] = (args[at] as string).split("=", 2);
    const type = flag.startsWith("--") ? ownMember(flagTypes(COMMON), flag.slice(2)) : undefined;
    if (type === undefined) return usage(`${messages.optionsBehind(flag)}\n${messages.allCommands}`);
    const takesNext = type === "string" && value === undefined;
    if (takesNext && args[at + 1] === undefined) return usage(messages.missingValue(flag));
    at += takesNext ? 2 : 1;
  }
  return dispatch(args[at], [...args.slice(0, at), ...args.slice(at + 1)], program);
}
