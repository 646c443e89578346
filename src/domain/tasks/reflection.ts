/** The commands of a task, as far as they decide what may run next: a model thinks about a failure before it repeats the command. */
export interface Reflection {
  /** The command that failed last, until the model said something or changed something. */
  readonly failed: string | null;
}

export const NOTHING_FAILED: Reflection = { failed: null };

export function afterCommand(command: string, exitCode: number): Reflection {
  return exitCode === 0 ? NOTHING_FAILED : { failed: command.trim() };
}

/** The model wrote why, or edited a file: the same command is a new question now. */
export function afterThought(): Reflection {
  return NOTHING_FAILED;
}

export function mustReflectBefore({ failed }: Reflection, command: string): boolean {
  return failed !== null && failed === command.trim();
}
