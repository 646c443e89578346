import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "./chat-agents.ts";
import { CONTENT, FILE } from "./chat-stub.ts";
import { peakOfTree } from "./tree-memory.ts";

const PATIENCE_MS = 60_000;

export type Run =
  | {
      readonly ok: true;
      readonly ms: number;
      /** Of the process and of those that it waited for. */
      readonly processorMs: number;
      readonly memoryMb: number;
      readonly said: string;
    }
  | { readonly ok: false; readonly said: string };

/** One message in a fresh repository. Memory is looked at only when asked for: the looking takes time. */
export async function runOnce(agent: Agent, workspace: string, memory: boolean): Promise<Run> {
  freshRepository(workspace);
  const [before, ...args] = agent.before ?? [];
  if (before !== undefined) execFileSync(before, args, { env: agent.env, cwd: workspace, stdio: "ignore" });
  const started = performance.now();
  const child = Bun.spawn([...agent.command], {
    cwd: workspace,
    env: agent.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: PATIENCE_MS,
  });
  const [memoryMb, out, err] = await Promise.all([
    memory ? peakOfTree(child) : 0,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const ms = performance.now() - started;
  const file = join(workspace, FILE);
  if (!existsSync(file) || readFileSync(file, "utf8") !== CONTENT)
    return { ok: false, said: `${out} ${err}`.replace(/\s+/g, " ").trim().slice(-120) };
  const processorMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;
  return { ok: true, ms, processorMs, memoryMb, said: `${out}\n${err}` };
}

function freshRepository(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "README.md"), "# demo\n");
  const identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  for (const args of [
    ["init", "-q", "-b", "main"],
    ["add", "."],
    ["commit", "-qm", "init"],
  ])
    execFileSync("git", ["-C", folder, ...identity, ...args], { stdio: "ignore" });
}
