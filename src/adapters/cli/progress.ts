import type { JobEvent } from "../../application/ports/journal.ts";
import { oneLine } from "../../domain/messages/format-results.ts";
import type { Messages } from "../../domain/messages/messages.ts";
import type { CliProgram } from "./program.ts";

export interface Progress {
  readonly event: (event: JobEvent) => void;
  readonly output: (text: string) => void;
  readonly end: () => void;
}

/** One line on a terminal's standard error that says what runs now; nothing elsewhere. */
export function createProgress(program: CliProgram, _messages: Messages, on: boolean): Progress {
  if (!on) return { event: () => {}, output: () => {}, end: () => {} };
  const clear = "\r\x1b[K";
  const width = 100;
  return {
    event(event) {
      if (event.type !== "command_started") return;
      const { type, action, target } = event.command;
      program.err(`${clear}… [${event.index + 1}] ${type} ${action} ${oneLine(target)}`.slice(0, width));
    },
    output(text) {
      const last =
        text
          .trimEnd()
          .split("\n")
          .at(-1)
          ?.replace(/[\x00-\x1f\x7f]/g, " ") ?? "";
      if (last !== "") program.err(`${clear}  ${last}`.slice(0, width));
    },
    end: () => program.err(clear),
  };
}
