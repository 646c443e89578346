import { readFileSync } from "node:fs";
import type { CliProgram } from "../adapters/cli/program.ts";

/** The command line's ports: this process, its streams, and a Worker wired on demand. */
export function createProgram(env: Readonly<Record<string, string | undefined>>, cwd: string): CliProgram {
  return {
    env,
    cwd,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    errIsTerminal: process.stderr.isTTY === true,
    outIsTerminal: process.stdout.isTTY === true,
    inIsTerminal: process.stdin.isTTY === true,
    readInput: () => readFileSync(0),
    readFile: (path) => readFileSync(path),
    openIndex: async () => (await import("./job-index.ts")).openJobIndex(env),
    diagnose: async (worker, options) => (await import("./diagnose.ts")).diagnose(env, worker, options),
    openWorker: async (options) => (await import("./worker.ts")).openWorker(env, options),
  };
}
