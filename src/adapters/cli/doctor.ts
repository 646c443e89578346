import { type Flags, printJson, type Subcommand } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { whileWaiting } from "./progress-line.ts";

/** `doctor [--repair]`: what works here, what does not, and what helps. */
export const command: Subcommand = { name: "doctor", usage: "doctor", flags: "--repair", run: doctor };

async function doctor(program: CliProgram, { values }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, (options) =>
    program.openWorkspace({ ...options, reclaimStorage: values.repair === true }),
  );
  const checks = await whileWaiting(program, opened.messages.waitsFor.checks, () =>
    program.diagnose(opened, { repair: values.repair === true }),
  );
  const report = await import("./terminal-report.ts");
  if (program.json) printJson(program, { checks });
  else
    for (const { ok, optional, text, remedy } of checks) {
      const mark = ok ? "✓" : optional === true ? "!" : "✗";
      const help = ok || remedy === undefined ? "" : remedy;
      program.out(
        report.hasReportLook(program)
          ? `${report.lookOfCheck(program, mark, text, help)}\n`
          : `${mark} ${text}${help === "" ? "" : `\n    → ${help}`}\n`,
      );
    }
  return checks.every(({ ok, optional }) => ok || optional === true) ? EXIT.done : EXIT.failed;
}
