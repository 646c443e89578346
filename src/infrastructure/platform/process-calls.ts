/** A child process; `node:child_process` would cost ten milliseconds at its first use. */
export interface SpawnedChild {
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  /** What the runtime reads for a stream that was asked for as "pipe". */
  readonly stdout: ReadableStream<Uint8Array> | undefined;
  readonly stderr: ReadableStream<Uint8Array> | undefined;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

export interface ChildExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export interface SpawnRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment; its PATH finds the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors of this process for 0, 1, 2, 3, …; the child gets its own copies. */
  readonly stdio: readonly (number | "ignore" | "pipe")[];
  /** In a session of its own. */
  readonly detached: boolean;
}

/** Starts a process. Throws the system's error, with its `code`, when it cannot. */
export function spawnChild({ argv, cwd, env, stdio, detached }: SpawnRequest): SpawnedChild {
  const exit = Promise.withResolvers<ChildExit>();
  const child = Bun.spawn({
    cmd: [...argv],
    cwd,
    env: { ...env },
    stdio: [...stdio] as ["ignore", "pipe", "pipe"],
    detached,
    onExit: (_, exitCode, signalCode) =>
      exit.resolve({ exitCode: signalCode === null ? exitCode : null, signal: signalName(signalCode) }),
  });
  return {
    pid: child.pid,
    exited: exit.promise,
    stdout: child.stdout instanceof ReadableStream ? child.stdout : undefined,
    stderr: child.stderr instanceof ReadableStream ? child.stderr : undefined,
    kill: (signal) => child.kill(signal),
  };
}

/** The runtime gives a number; people and callers read a name. */
function signalName(code: number | string | null): string | null {
  if (code === null || typeof code === "string") return code;
  const { signals } = process.getBuiltinModule("node:os").constants;
  return Object.entries(signals).find(([, number]) => number === code)?.[0] ?? `SIG${code}`;
}
