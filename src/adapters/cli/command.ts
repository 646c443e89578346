import { resolve } from "node:path";
import type { JobStatus } from "../../domain/jobs/result.ts";
import { escapeUnseen, toShownJson } from "../../domain/platform/json-text.ts";
import type { FileTrouble } from "../../domain/platform/machine-trouble.ts";
import type { HelpMessages } from "../../domain/texts/cli.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `lines`: may be repeated; its values are the lines of one text. */
export type FlagTypes = Readonly<Record<string, "boolean" | "string" | "lines">>;

/** Flags that every command takes. */
export const COMMON = "--workspace= --config= --json --help";

const KINDS = { "": "boolean", "=": "string", "=*": "lines" } as const;

export function flagTypes(flags: string): FlagTypes {
  const found = flags.matchAll(/--([\w-]+)(=\*?|)/g);
  return Object.fromEntries([...found].map(([, name, kind]) => [name, KINDS[kind as keyof typeof KINDS]]));
}

export interface Flags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly words: readonly string[];
}

export type ParsedFlags =
  | { readonly ok: true; readonly flags: Flags }
  | { readonly ok: false; readonly problem: "unknown" | "missing-value" | "no-value"; readonly flag: string };

/** `--` precedes words that begin with a dash. By hand: `node:util` costs two milliseconds and has no codes for its errors. */
export function parseFlags(args: readonly string[], types: FlagTypes): ParsedFlags {
  const values: Record<string, string | boolean> = {};
  const words: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === "--") {
      words.push(...args.slice(i + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      words.push(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const flag = arg === "-h" ? "--help" : equals < 0 ? arg : arg.slice(0, equals);
    const name = flag.slice(2);
    const type = flag.startsWith("--") && Object.hasOwn(types, name) ? types[name] : undefined;
    if (type === undefined) return { ok: false, problem: "unknown", flag };
    if (type === "boolean") {
      if (equals >= 0) return { ok: false, problem: "no-value", flag: arg };
      values[name] = true;
      continue;
    }
    const value = equals >= 0 ? arg.slice(equals + 1) : args[++i];
    if (value === undefined || (equals < 0 && /^-[^\d]/.test(value)))
      return { ok: false, problem: "missing-value", flag };
    const earlier = type === "lines" ? values[name] : undefined;
    values[name] = typeof earlier === "string" ? `${earlier}\n${value}` : value;
  }
  return { ok: true, flags: { values, words } };
}

/** It says what it did on the program's streams and returns the exit code. */
export type RunCommand = (program: CliProgram, flags: Flags) => Promise<number>;

export interface CommandLine {
  /** The texts of each language describe the command and its flags under this name. */
  readonly name: keyof HelpMessages["commands"];
  readonly usage: string;
  /** Beside those that every command takes: `--all --name= --set=*` is a switch, one with a value, and one that may be repeated. */
  readonly flags?: string;
  /** Most words beside flags. Default: none. */
  readonly words?: number;
}

/** One subcommand: a file of its own, and one line in the table of `dispatch.ts`. */
export type Subcommand = CommandLine &
  (
    | { readonly run: RunCommand }
    /** Where the first word is an action with flags of its own. */
    | { readonly runAction: (program: CliProgram, args: readonly string[]) => Promise<number> }
  );

/** Words of a model, a program or a stranger's file name must not steer the terminal. */
export function printable(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** The same for a diff: the ends of its lines stay as they are, so that it still applies. */
export function printableDiff(diff: string): string {
  return diff.split("\r\n").map(printable).join("\r\n");
}

/** A document without the secrets in its texts. */
export function maskedJson(document: unknown, mask: (text: string) => string): string {
  return escapeUnseen(
    JSON.stringify(document, (_, value) => (typeof value === "string" ? mask(value) : value)),
  );
}

/** Why a command did not do what was asked; nothing of it is left half done. */
export interface CliFailure {
  readonly exitCode: (typeof EXIT)[keyof typeof EXIT];
  /** For programs. */
  readonly code: string;
  /** For people. */
  readonly text: string;
  /** Facts that a program can use beside the code. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** Tells a person on standard error, or a program with one document on standard output. */
export function fail(program: CliProgram, { exitCode, code, text, facts }: CliFailure): number {
  if (program.json)
    program.out(`${toShownJson({ success: false, error: { code, message: text, ...facts } })}\n`);
  else program.err(`${printable(text)}\n`);
  return exitCode;
}

const READ_TROUBLES: Readonly<Record<string, FileTrouble>> = {
  EISDIR: "is-directory",
  EACCES: "permission-denied",
  EFBIG: "too-large",
};

/** The text of a file, of standard input where it is named `-`; else what is wrong with it. */
export function readText(program: CliProgram, name: string): { readonly text: string } | FileTrouble {
  try {
    const bytes = name === "-" ? program.readInput() : program.readFile(resolve(program.cwd, name));
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { text: text.decode(bytes) };
  } catch (error) {
    if (error instanceof TypeError) return "not-text";
    return READ_TROUBLES[(error as { code?: string }).code ?? ""] ?? "not-found";
  }
}

/** A port as a flag names it; undefined where it is none. 0: any free one. */
export function readPort(text: string | boolean): number | undefined {
  const port = Number(text);
  return typeof text === "string" && /^\d{1,5}$/.test(text) && port <= 65_535 ? port : undefined;
}

/** Bad input: nothing ran. */
export function refuseInput(program: CliProgram, code: string, text: string): number {
  return fail(program, { exitCode: EXIT.usage, code, text });
}

/** The request cannot be carried out here or now; nothing ran. */
export function refuseWork(program: CliProgram, code: string, text: string): number {
  return fail(program, { exitCode: EXIT.refused, code, text });
}

/** Why the arguments of a command are refused. */
export function refuseUsage(program: CliProgram, text: string): number {
  return refuseInput(program, "usage", text);
}

/** Tells a person with words, or a program with one document. */
export function succeed(program: CliProgram, document: object, text: string): number {
  program.out(`${program.json ? toShownJson(document) : printable(text)}\n`);
  return EXIT.done;
}

/** The one document of a command that did what was asked. */
export function printJson(program: CliProgram, document: unknown): number {
  program.out(`${toShownJson(document)}\n`);
  return EXIT.done;
}

/** Calls `handle` once for each of these signals, until it is disposed. */
export function onSignals<Signal extends NodeJS.Signals>(
  signals: readonly Signal[],
  handle: (signal: Signal) => void,
): Disposable {
  const handlers = signals.map((signal) => [signal, () => handle(signal)] as const);
  for (const [signal, run] of handlers) process.once(signal, run);
  return {
    [Symbol.dispose]() {
      for (const [signal, run] of handlers) process.off(signal, run);
    },
  };
}

const ENDINGS = { SIGTERM: 143, SIGHUP: 129 } as const;

/** Leaves a screen at a signal that ends the program, with the exit code that a shell expects then. */
export const onEnding = (leave: (exitCode: number) => void): Disposable =>
  onSignals(["SIGTERM", "SIGHUP"], (signal) => leave(ENDINGS[signal]));

/** The first of these stops the work, which then leaves nothing half done; a second one ends the program. */
export const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function abortable<T>(
  work: (signal: AbortSignal) => Promise<T>,
  signals: readonly NodeJS.Signals[] = STOPPING,
): Promise<T> {
  const abort = new AbortController();
  using _ = onSignals(signals, () => abort.abort());
  return await work(abort.signal);
}

/** Words about a job, with the look of its card at a terminal. */
export async function styleReport(
  program: CliProgram,
  text: string,
  status: JobStatus | null,
): Promise<string> {
  if (!program.outIsTerminal) return text;
  const { hasReportLook, lookOfReport } = await import("./terminal-report.ts");
  return hasReportLook(program) ? lookOfReport(program, text, status) : text;
}
