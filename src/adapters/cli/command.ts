import type { CliProgram } from "./program.ts";

/** One subcommand: it says what it did on the program's streams and returns the exit code. */
export type CliCommand = (program: CliProgram, args: readonly string[]) => Promise<number>;
