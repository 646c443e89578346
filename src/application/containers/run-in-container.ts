import type { ExecRequest, ExecResult, SandboxManager } from "../ports/containers.ts";

export interface RunInOptions extends Pick<ExecRequest, "timeoutMs" | "env" | "stdin" | "cwd"> {
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

/** A container beside the task's, for what the task must not do itself. */
export interface BesideContainer {
  readonly run: RunIn;
  close(): Promise<void>;
}

export function createRunIn(sandboxes: SandboxManager, container: string): RunIn {
  return (command, { onLine, onBytes, limitBytes = OUTPUT_BYTES, ...rest }) => {
    let held = "";
    return sandboxes.exec(container, {
      cwd: "/workspace",
      ...rest,
      command,
      outputLimitBytes: limitBytes,
      onBytes: onBytes && ((stream, bytes) => stream === "stdout" && onBytes(bytes)),
      onOutput:
        onLine &&
        ((_, text) => {
          const lines = (held + text).split(/[\r\n]+/);
          held = lines.pop() ?? "";
          for (const line of lines) if (line !== "") onLine(line);
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
