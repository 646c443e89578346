import type { HelpMessages } from "../../domain/texts/texts.ts";
import type { FlagTypes } from "./parse-flags.ts";
import type { CliProgram } from "./program.ts";

/** It says what it did on the program's streams and returns the exit code. */
export type CliCommand = (program: CliProgram, args: readonly string[]) => Promise<number>;

/** What a command takes. */
export interface CommandLine {
  /** What it does and what its flags mean is told by the texts of each language, under this name. */
  readonly name: keyof HelpMessages["commands"];
  readonly usage: string;
  /** Beside those that every command takes. */
  readonly flags: FlagTypes;
  /** Most words beside flags. */
  readonly words: number;
}

/** One subcommand: a file of its own, and one line in the table of `dispatch.ts`. */
export interface Subcommand extends CommandLine {
  readonly run: CliCommand;
}
