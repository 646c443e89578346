import type { ProcessEntry } from "./process-entry.ts";

/**
 * macOS has no `/proc`: one `ps` for the tree and one for the environments (own processes only).
 * There is no session id; the process group stands for it.
 */
export async function readDarwinProcesses(): Promise<readonly ProcessEntry[]> {
  const [tree, environments] = await Promise.all([
    ps(["-axww", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="]),
    ps(["-axwwE", "-o", "pid=,command="]),
  ]);
  return parseDarwinProcesses(tree, environments);
}

/** `  501     1   501 S    Mon Nov  3 09:12:44 2025     /bin/sleep 100` */
const TREE_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s+(.*)$/;

export function parseDarwinProcesses(tree: string, environments: string): readonly ProcessEntry[] {
  const withEnvironment = new Map<number, string>();
  for (const line of environments.split("\n")) withEnvironment.set(Number.parseInt(line, 10), `${line} `);
  return tree.split("\n").flatMap((line) => {
    const [, pid, parent, group, state, started, command] = TREE_LINE.exec(line) ?? [];
    if (!pid || !parent || !group || !started) return [];
    return {
      pid: Number(pid),
      parentPid: Number(parent),
      group: Number(group),
      session: Number(group),
      startedAt: Date.parse(started) / 1000,
      zombie: state?.startsWith("Z") ?? false,
      tag: () => undefined,
      hasVariable: (name: string, value: string) =>
        withEnvironment.get(Number(pid))?.includes(` ${name}=${value} `) ?? false,
      command: () => command ?? "",
    };
  });
}

async function ps(args: readonly string[]): Promise<string> {
  const { execFile } = await import("node:child_process");
  return new Promise((resolve) => {
    const options = { env: { LC_ALL: "C", PATH: "/bin:/usr/bin" }, maxBuffer: 64 * 1024 * 1024 };
    execFile("ps", args, options, (_error, stdout) => resolve(stdout));
  });
}
