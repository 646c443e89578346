import { printable } from "./printable.ts";
import type { CliProgram, EXIT } from "./program.ts";

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
export function fail(program: CliProgram, json: boolean, failure: CliFailure): number {
  const { exitCode, code, text, facts } = failure;
  if (json) program.out(`${JSON.stringify({ success: false, error: { code, message: text, ...facts } })}\n`);
  else program.err(`${printable(text)}\n`);
  return exitCode;
}
