import { failingOutput } from "../../domain/checks/failing-output.ts";

const OUTPUT_CHARS = 6000;
const NAMES = 20;

/** One red check, for the coder: the command as the project calls it, what it printed, how it ended. */
export function wordRedCheck({
  command,
  output,
  exitCode,
  outcome,
}: {
  readonly command: string;
  readonly output: string;
  readonly exitCode: number | null;
  readonly outcome?: string;
}): string {
  const end = exitCode === null ? (outcome ?? "it did not end") : `exit code ${exitCode}`;
  return `$ ${command}\n${failingOutput(output, OUTPUT_CHARS)}\n${end}`;
}

/** The first names of tests, and how many more there are; nothing where there are none. */
export function wordTests(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const rest = names.length > NAMES ? [`… and ${names.length - NAMES} more`] : [];
  return [`${title}:\n${[...names.slice(0, NAMES).map((name) => `- ${name}`), ...rest].join("\n")}`];
}
