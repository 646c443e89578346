import type { ProcessRunner } from "../../application/ports/process.ts";
import { killJobProcesses, listJobProcesses } from "./job-processes.ts";
import { runProcess } from "./run-process.ts";

/** Processes of the host this program runs on. */
export const hostProcesses: ProcessRunner = { runProcess, listJobProcesses, killJobProcesses };
