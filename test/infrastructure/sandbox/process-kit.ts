import { readFileSync, rmSync } from "node:fs";
import type { ProcessRequest } from "../../../src/application/ports/platform-processes.ts";
import { createProcessRunner } from "../../../src/infrastructure/platform/process-runner.ts";
import { makeTestFolder } from "../../left-behind.ts";

export const folder = makeTestFolder("process");
const markers = new Set<string>();

/** A shell script as a job of its own. */
export function request(script: string, change: Partial<ProcessRequest> = {}): ProcessRequest {
  const made: ProcessRequest = {
    argv: ["sh", "-c", script],
    cwd: folder,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
    timeoutMs: 120_000,
    graceMs: 200,
    outputLimitBytes: 100_000,
    jobMarker: `job_test_${crypto.randomUUID()}`,
    ...change,
  };
  markers.add(made.jobMarker);
  return made;
}

export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Alive and no zombie. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** For `afterEach`: no test leaves a process behind. */
export async function endAllJobs(): Promise<void> {
  for (const marker of markers) await createProcessRunner().killJobProcesses(marker, { graceMs: 0 });
  markers.clear();
}

process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
