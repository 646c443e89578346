import type { JobEvent } from "../../application/ports/journal.ts";
import type { Opened } from "../../application/ports/opening.ts";
import { oneLine } from "../../domain/jobs/format-results.ts";
import type { CliProgram } from "./program.ts";

export interface Progress {
  readonly event: (event: JobEvent) => void;
  readonly output: (text: string) => void;
  readonly end: () => void;
}

const CLEAR = "\r\x1b[K";
const COLUMNS = 100;

/**
 * For a person at a terminal, on standard error: what is about to run, then one line that says what
 * runs now. Nothing elsewhere.
 */
export function createProgress(program: CliProgram, opened: Opened, on: boolean): Progress {
  if (!on) return { event: () => {}, output: () => {}, end: () => {} };
  const {
    messages,
    workspace: { mask },
    config,
  } = opened;
  const line = (text: string) => program.err(`${CLEAR}${visible(text).slice(0, COLUMNS)}`);
  return {
    event(event) {
      if (event.type === "job_started" && config.worker.show_execution_summary) {
        const { commands: total, file_edits, shell_commands, git_operations } = event;
        const counts = {
          total,
          fileEdits: file_edits,
          shellCommands: shell_commands,
          gitOperations: git_operations,
        };
        program.err(`${messages.executionSummary(counts)}\n`);
      }
      if (event.type !== "command_started") return;
      const { type, action, target } = event.command;
      line(`… [${event.index + 1}] ${type} ${action} ${oneLine(target)}`);
    },
    output(text) {
      const last = text.trimEnd().split("\n").at(-1) ?? "";
      if (last !== "") line(`  ${mask(last)}`);
    },
    end: () => program.err(CLEAR),
  };
}

/** A program's output must not steer the terminal. */
function visible(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
}
