import type { ProcessRunner } from "../../../application/ports/process.ts";
import { killJobProcesses, listJobProcesses } from "./job-processes.ts";
import { runProcess } from "./run-process.ts";

/** Processes of the host this program runs on. Holds nothing: any number of runners see the same jobs. */
export function createProcessRunner(): ProcessRunner {
  return { runProcess, listJobProcesses, killJobProcesses };
}
