import type { ExecResult, SandboxManager } from "../ports/sandbox.ts";

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly cwd?: string;
  readonly onLine?: (line: string) => void;
}

const OUTPUT_BYTES = 256 * 1024;

/** Runs one command of our own in a container. */
export type RunIn = (command: string, options: RunOptions) => Promise<ExecResult>;

export function createRunIn(sandboxes: SandboxManager, container: string): RunIn {
  return (command, { signal, timeoutMs, env, stdin, cwd, onLine }) => {
    let held = "";
    return sandboxes.exec(container, {
      command,
      timeoutMs,
      signal,
      outputLimitBytes: OUTPUT_BYTES,
      cwd: cwd ?? "/workspace",
      ...(env !== undefined && { env }),
      ...(stdin !== undefined && { stdin }),
      ...(onLine !== undefined && {
        onOutput: (_stream: string, text: string) => {
          const lines = (held + text).split(/[\r\n]+/);
          held = lines.pop() ?? "";
          for (const line of lines) if (line !== "") onLine(line);
        },
      }),
    });
  };
}

/** Both streams, for a message; the last lines say most. */
export function saidBy({ stdout, stderr, failure }: ExecResult, lines = 12): string {
  const text = `${stdout}\n${stderr}`.trim().split("\n").slice(-lines).join("\n");
  return text !== "" ? text : (failure?.detail ?? "");
}
