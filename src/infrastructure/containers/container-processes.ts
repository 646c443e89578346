import type { ProcessResult, ProcessRunner } from "../../application/ports/process.ts";
import type { ExecResult, SandboxManager } from "../../application/ports/containers.ts";
import { createOutputCapture } from "../engine/output-capture.ts";

/**
 * Processes of jobs in a container. What a command leaves in the background goes on with the task (001 lets a server
 * run while tests talk to it), so that a job has nothing to end.
 */
export function createContainerProcesses(sandboxes: SandboxManager, container: string): ProcessRunner {
  return {
    async runProcess(request) {
      const both = createOutputCapture(request.outputLimitBytes, request.cutNote);
      const result = await sandboxes.exec(container, {
        command: request.argv,
        cwd: request.cwd,
        env: request.env,
        timeoutMs: request.timeoutMs,
        outputLimitBytes: request.outputLimitBytes,
        ...(request.graceMs !== undefined && { graceMs: request.graceMs }),
        ...(request.signal !== undefined && { signal: request.signal }),
        ...(request.cutNote !== undefined && { cutNote: request.cutNote }),
        onOutput(stream, text) {
          both.add(Buffer.from(text));
          request.onOutput?.(stream, text);
        },
      });
      return processResult(result, both.finish().text);
    },
    listJobProcesses: async () => [],
    killJobProcesses: async () => [],
  };
}

function processResult(result: ExecResult, output: string): ProcessResult {
  const { exitCode, signal, stdout, stderr, truncatedBytes, durationMs, failure } = result;
  const base = { exitCode, signal, stdout, stderr, output, truncatedBytes, durationMs };
  switch (result.outcome) {
    case "exited":
    case "signaled":
    case "timed-out":
    case "aborted":
      return { ...base, outcome: result.outcome };
    case "disconnected":
    case "not-started": {
      const message = failure?.detail ?? result.outcome;
      const reason =
        failure?.code === "program-missing"
          ? "program-missing"
          : failure?.code === "cwd-missing"
            ? "cwd-missing"
            : "unknown";
      return { ...base, outcome: "not-started", error: { reason, message, cause: failure } };
    }
  }
}
