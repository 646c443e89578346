import { SHELLS } from "./builtins.ts";
import type { ShellCommand, ShellDialect, ShellWord } from "./commands-shell-script.ts";

/** A script that a command would run; null text when it cannot be seen. */
export interface InnerScript {
  readonly text: string | null;
  readonly dialect: ShellDialect | "same";
}

/** Null: it runs no script. `file`: it runs a file, which the allow list decides by the shell's name. */
export function innerScript(
  name: string,
  args: readonly ShellWord[],
  command: ShellCommand,
): InnerScript | "file" | null {
  if (SHELLS.has(name)) return shellScript(name, args, command);
  switch (name) {
    case "eval":
      return { text: args.some((word) => word.value === null) ? null : joinedWords(args), dialect: "same" };
    case "trap":
      return trapScript(args);
    case "source":
    case ".": {
      // A file of the project is like any program of it; what comes out of a pipe or a descriptor is not.
      const file = args.find((word) => word.value !== "--")?.value ?? null;
      return file === null || /^\/(?:dev|proc)\//.test(file) ? { text: null, dialect: "same" } : null;
    }
    default:
      return null;
  }
}

function shellScript(name: string, args: readonly ShellWord[], command: ShellCommand): InnerScript | "file" {
  const dialect = name === "sh" || name === "dash" || name === "ash" ? "sh" : "bash";
  let takesScript = false;
  let readsInput = false;
  let at = 0;
  for (; at < args.length; at++) {
    const value = args[at]?.value;
    if (value === undefined || value === null || !/^[-+]/.test(value)) break;
    if (value === "--" || value === "-") {
      at++;
      break;
    }
    if (value.startsWith("--")) {
      if (/^--(?:rcfile|init-file)/.test(value)) return { text: null, dialect };
      continue;
    }
    if (value.startsWith("-")) {
      takesScript ||= value.includes("c");
      readsInput ||= value.includes("s");
    }
    if (/[oO]$/.test(value)) at++;
  }
  const operand = args[at];
  if (takesScript) return { text: operand?.value ?? null, dialect };
  if (operand && !readsInput) return "file";
  return { text: command.input.kind === "document" ? command.input.text : null, dialect };
}

function trapScript(args: readonly ShellWord[]): InnerScript | null {
  const first = args.find((word) => word.value !== "--");
  if (!first || args.length < 2 || first.value === "-" || first.value === "-p" || first.value === "-l")
    return null;
  return { text: first.value, dialect: "same" };
}

function joinedWords(words: readonly ShellWord[]): string {
  return words.map((word) => word.value).join(" ");
}
