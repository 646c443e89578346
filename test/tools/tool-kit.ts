/** The toolkit on a throw-away workspace: real files, real jobs, real git. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ToolResult } from "../../src/tools/tool-result.ts";
import { type AgentToolkit, createAgentToolkit } from "../../src/tools/toolkit.ts";
import { openToolContext, type ToolContextChoices } from "../../src/wiring/toolkit.ts";
import { createBench, type Settings } from "../application/jobs/worker-kit.ts";

export function createToolBench() {
  const bench = createBench();
  const context = async (choices: ToolContextChoices = {}, settings?: Settings, at = bench.workspace) => {
    const opened = await openToolContext(bench.environment(settings), { cwd: at }, choices);
    if (!opened.ok) throw new Error(opened.message ?? JSON.stringify(opened.problems));
    return opened.context;
  };
  const bytes = (path: string): Uint8Array => readFileSync(bench.path(path));
  return {
    ...bench,
    context,
    bytes,
    toolkit: async (...args: Parameters<typeof context>): Promise<AgentToolkit> =>
      createAgentToolkit(await context(...args)),
    exists: (path: string) => existsSync(bench.path(path)),
    mode: (path: string) => statSync(bench.path(path)).mode & 0o777,
    link(path: string, target: string): void {
      mkdirSync(dirname(bench.path(path)), { recursive: true });
      symlinkSync(target, bench.path(path));
    },
    /** Every file with its text, without git's own. */
    tree(): Record<string, string> {
      const files: Record<string, string> = {};
      for (const entry of readdirSync(bench.workspace, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name).slice(bench.workspace.length + 1);
        if (entry.isFile() && !/(^|\/)\.git\//.test(path)) files[path] = bench.read(path);
      }
      return files;
    },
  };
}

export type ToolBench = ReturnType<typeof createToolBench>;

/** The data of a call that must have succeeded. */
export function dataOf<Data>(result: ToolResult<Data>): Data {
  if (result.status !== "success") throw new Error(JSON.stringify(result));
  return result.data as Data;
}

export function jobOf(result: ToolResult): string {
  if (result.status !== "success" || result.job_id === undefined) throw new Error(JSON.stringify(result));
  return result.job_id;
}

export function codeOf(result: ToolResult): string {
  return result.status === "success" ? "success" : `${result.status} ${result.error.code}`;
}
