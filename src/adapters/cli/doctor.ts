import type { Subcommand } from "./command.ts";
import { openFromFlags, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { wrapWords } from "./terminal-text.ts";

/** `doctor [--repair]`: what works here, what does not, and what helps. */
export const command: Subcommand = {
  name: "doctor",
  usage: "doctor",
  flags: { repair: "boolean" },
  words: 0,
  run: doctor,
};

async function doctor(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const opened = await openFromFlags(program, flags);
  const checks = await program.diagnose(opened, { repair: flags.values.repair === true });
  if (flags.values.json === true) program.out(`${JSON.stringify({ checks })}\n`);
  else
    for (const { ok, optional, text, remedy } of checks) {
      const mark = ok ? "✓" : optional === true ? "!" : "✗";
      const lines = `${mark} ${text}${ok || remedy === undefined ? "" : `\n    → ${remedy}`}`;
      program.out(`${wrapWords(lines, program.columns(), "      ")}\n`);
    }
  return checks.every(({ ok, optional }) => ok || optional === true) ? EXIT.done : EXIT.failed;
}
