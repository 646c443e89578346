import { type AddressesOf, refusedHosts, refusedText } from "../../domain/containers/refused-hosts.ts";
import type { ExceededLimit, ExecResult } from "../ports/containers.ts";

/** The public shape of a command's result. */
export interface ExecutionResult {
  /** -1 when the command did not end by itself. */
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
}

/** An engine's result in the public shape. What the command printed so far stays; the reason comes last. */
export function executionResult(result: ExecResult, timeoutSeconds: number): ExecutionResult {
  const { stdout, stderr } = result;
  const as = (exitCode: number, errors: string): ExecutionResult => ({
    exit_code: exitCode,
    stdout,
    stderr: errors,
    duration_ms: Math.round(result.durationMs),
  });
  const said = (why: string) => (stderr === "" ? why : `${stderr.replace(/\n?$/, "\n")}${why}`);
  switch (result.outcome) {
    case "exited":
    case "signaled": {
      const exitCode = result.exitCode ?? -1;
      const why = result.limit === undefined ? null : limitText(result.limit);
      return as(exitCode, why === null ? stderr : said(why));
    }
    case "timed-out":
      return as(-1, said(`Command timeout after ${timeoutSeconds} seconds`));
    case "aborted":
    case "disconnected":
    case "not-started": {
      const why = result.failure?.detail ?? result.outcome;
      return as(-1, said(`Command execution error: ${why}`));
    }
  }
}

/** A failed command whose host our own rules refused says so. */
export async function withRefusals(
  command: string,
  result: ExecutionResult,
  reachable: readonly string[] | null,
  addressesOf: AddressesOf,
): Promise<ExecutionResult> {
  if (result.exit_code === 0) return result;
  const hosts = await refusedHosts(
    { command, output: `${result.stdout}\n${result.stderr}` },
    reachable,
    addressesOf,
  );
  if (hosts.length === 0) return result;
  const stderr = result.stderr === "" ? "" : result.stderr.replace(/\n?$/, "\n");
  return { ...result, stderr: `${stderr}${refusedText(hosts)}` };
}

function limitText(limit: ExceededLimit): string {
  switch (limit.kind) {
    case "memory":
      return `out of memory (limit ${shortSize(limit.limitBytes)})`;
    case "disk":
      return `out of disk space (limit ${shortSize(limit.limitBytes)})`;
    case "processes":
      return `too many processes (limit ${limit.limit})`;
  }
}

/** As Docker writes sizes: 4g, 512m. */
function shortSize(bytes: number): string {
  for (const [unit, size] of [
    ["g", 1024 ** 3],
    ["m", 1024 ** 2],
    ["k", 1024],
  ] as const)
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))}${unit}`;
  return String(bytes);
}
