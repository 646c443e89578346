import { parseArgs } from "node:util";
import { resolveLocale } from "../../config/locale.ts";
import { messagesFor } from "../../domain/messages/catalogue.ts";
import { fail } from "./fail.ts";
import { type CliProgram, EXIT, type OpenWorker } from "./program.ts";

type FlagTypes = Readonly<Record<string, "boolean" | "string">>;

/** Flags that every command takes. */
const COMMON = { workspace: "string", config: "string", json: "boolean", help: "boolean" } as const;

export interface Flags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly words: readonly string[];
}

/** A command that ends before it starts: bad usage, `--help`, or no workspace. */
export class Stop extends Error {
  constructor(readonly exitCode: number) {
    super("stop");
  }
}

/** Reads flags strictly; on trouble it says so and stops with exit code 2. */
export async function readFlags(
  program: CliProgram,
  command: string,
  args: readonly string[],
  flags: FlagTypes,
  maxWords: number,
): Promise<Flags> {
  const types: FlagTypes = { ...COMMON, ...flags };
  const messages = messagesFor(resolveLocale({ env: program.env }));
  const options = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, name === "help" ? { type, short: "h" } : { type }]),
  );
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
    });
    if (values.help === true) {
      program.out((await import("./help.ts")).commandHelp(program.env, command));
      throw new Stop(EXIT.done);
    }
    if (positionals.length > maxWords)
      throw usage(program, args, messages.usageError(positionals.slice(maxWords).join(" ")));
    return { values: values as Flags["values"], words: positionals };
  } catch (error) {
    if (error instanceof Stop) throw error;
    const unknown = /Unknown option '?(-[^'\s]*)/.exec((error as Error).message)?.[1];
    if (unknown !== undefined) {
      const { nearest } = await import("./help.ts");
      throw usage(
        program,
        args,
        messages.unknownFlag(
          unknown,
          nearest(
            unknown,
            Object.keys(types).map((name) => `--${name}`),
          ),
        ),
      );
    }
    const lacking = /Option '(?:-\w, )?(--[\w-]+) <value>' argument (?:missing|is ambiguous)/.exec(
      (error as Error).message,
    )?.[1];
    if (lacking !== undefined) throw usage(program, args, messages.missingValue(lacking));
    throw usage(program, args, messages.usageError((error as Error).message.split("\n")[0] as string));
  }
}

function usage(program: CliProgram, args: readonly string[], text: string): Stop {
  return new Stop(fail(program, args.includes("--json"), { exitCode: EXIT.usage, code: "usage", text }));
}

/** Opens the Worker that the common flags mean, and prints the configuration's warnings. */
export async function openFromFlags(program: CliProgram, { values }: Flags): Promise<OpenWorker> {
  const opened = await program.openWorker({
    cwd: program.cwd,
    ...(typeof values.workspace === "string" && { workspace: values.workspace }),
    ...(typeof values.config === "string" && { configFile: values.config }),
  });
  if (!opened.ok) {
    const { messages, problems, message = "", exitCode } = opened;
    const text =
      problems.length > 0
        ? [messages.configInvalid, ...problems.map(messages.configProblem)].join("\n  ")
        : message;
    const [code, facts] = problems.length > 0 ? ["configuration", { problems }] : ["workspace", {}];
    throw new Stop(fail(program, values.json === true, { exitCode, code, text, facts }));
  }
  const { worker } = opened;
  for (const warning of worker.warnings)
    program.err(`${worker.messages.warningLabel} ${worker.messages.configWarning(warning)}\n`);
  return worker;
}
