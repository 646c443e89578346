import { spawn } from "node:child_process";
import { jobEnvironment } from "../application/jobs/environment.ts";
import type { RunProgram } from "./tool-context.ts";
import { ToolError } from "./tool-error.ts";

const OUTPUT_BYTES = 32 * 1024 ** 2;

/** Programs that tools run beside jobs: git on a scratch folder, ripgrep. Output past the limit is dropped. */
export function createProgramRunner(host: Readonly<Record<string, string | undefined>>): RunProgram {
  const base = jobEnvironment({ host, pass: [], view: {} });
  return ({ argv, cwd, env, input, timeoutMs, signal }) =>
    new Promise((resolve, reject) => {
      const [program, ...args] = argv;
      const child = spawn(program, args, {
        cwd,
        env: { ...base, ...env },
        stdio: ["pipe", "pipe", "pipe"],
        timeout: timeoutMs,
        killSignal: "SIGKILL",
        ...(signal !== undefined && { signal }),
      });
      const streams = { stdout: collector(), stderr: collector() };
      child.stdout.on("data", streams.stdout.add);
      child.stderr.on("data", streams.stderr.add);
      child.on("error", (cause: Error & { code?: string }) => {
        if (cause.name === "AbortError") reject(new ToolError("ABORTED", "the call was aborted", { cause }));
        else
          reject(
            cause.code === "ENOENT"
              ? new ToolError("REFUSED", `${program} is not installed`, { cause })
              : new ToolError("INTERNAL", `${program}: ${cause.message}`, { cause }),
          );
      });
      child.on("close", (exitCode) =>
        resolve({ exitCode, stdout: streams.stdout.bytes(), stderr: streams.stderr.bytes() }),
      );
      // A program that ends without reading its input closes the pipe; that is its own business.
      child.stdin.on("error", () => {});
      child.stdin.end(input ?? "");
    });
}

function collector() {
  const parts: Uint8Array[] = [];
  let size = 0;
  return {
    add: (chunk: Uint8Array) => {
      if (size < OUTPUT_BYTES) parts.push(chunk);
      size += chunk.length;
    },
    bytes: () => Buffer.concat(parts),
  };
}
