import type { ExecRequest, ExecResult, SandboxManager } from "../ports/containers.ts";

interface RunInOptions extends Pick<ExecRequest, "timeoutMs" | "env" | "stdin" | "cwd"> {
  readonly signal: AbortSignal;
  readonly onLine?: (line: string) => void;
  /** Standard output as bytes, for output that is not text. */
  readonly onBytes?: (bytes: Uint8Array) => void;
  /** Of each stream; default 256 KiB. */
  readonly limitBytes?: number;
}

const OUTPUT_BYTES = 256 * 1024;

/** Runs one command of our own in a container. */
export type RunIn = (command: string, options: RunInOptions) => Promise<ExecResult>;

export function createRunIn(sandboxes: SandboxManager, container: string): RunIn {
  return (command, { signal, timeoutMs, env, stdin, cwd, onLine, onBytes, limitBytes = OUTPUT_BYTES }) => {
    let held = "";
    return sandboxes.exec(container, {
      command,
      timeoutMs,
      signal,
      outputLimitBytes: limitBytes,
      cwd: cwd ?? "/workspace",
      ...(env !== undefined && { env }),
      ...(stdin !== undefined && { stdin }),
      ...(onBytes !== undefined && {
        onBytes: (stream: string, bytes: Uint8Array) => {
          if (stream === "stdout") onBytes(bytes);
        },
      }),
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
export function outputTail({ stdout, stderr, failure }: ExecResult, lines = 12): string {
  const text = `${stdout}\n${stderr}`.trim().split("\n").slice(-lines).join("\n");
  return text !== "" ? text : (failure?.detail ?? "");
}

const PIECE_BYTES = 4 * 1024 ** 2;

/** Gathers what is sent into a container: each piece is one command there. */
export async function* joinIntoPieces(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of archive) {
    held.push(chunk);
    size += chunk.length;
    if (size < PIECE_BYTES) continue;
    yield Buffer.concat(held);
    held = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(held);
}
