import { closeSync, statSync } from "node:fs";
import {
  JOB_VARIABLE,
  type OutputStream,
  type ProcessRequest,
  type StartFailure,
  type StartFailureReason,
} from "../../application/ports/process.ts";
import { openPipe } from "../platform/pipe.ts";
import { setChildSubreaper, withInheritedTag } from "../platform/process-control.ts";
import { type SpawnedChild, spawnChild } from "../platform/process-calls.ts";

type OnBytes = (bytes: Uint8Array) => void;

interface ChildStream {
  readonly read: (onBytes: OnBytes) => Promise<void>;
  readonly stop: () => void;
}

export interface StartedChild {
  readonly child: SpawnedChild;
  /** False where the job tag could not be set (see `withInheritedTag`). */
  readonly tagged: boolean;
  readonly streams: Readonly<Record<OutputStream, ChildStream>>;
}

/** Spawns in a new session, tagged and marked. Throws what the system said when it could not. */
export function startChild(request: ProcessRequest, runTag: bigint): StartedChild {
  setChildSubreaper();
  const pipes = openPipes();
  const spawn = {
    argv: request.argv,
    cwd: request.cwd,
    env: { ...request.env, [JOB_VARIABLE]: request.jobMarker },
    detached: true,
    stdio: ["ignore", pipes?.stdout.writeFd ?? "pipe", pipes?.stderr.writeFd ?? "pipe"],
  } as const;
  try {
    const { started: child, tagged } = withInheritedTag(runTag, () => spawnChild(spawn));
    const streams = pipes ?? { stdout: fromStream(child.stdout), stderr: fromStream(child.stderr) };
    return { child, tagged, streams };
  } catch (error) {
    pipes?.stdout.stop();
    pipes?.stderr.stop();
    throw error;
  } finally {
    if (pipes) for (const pipe of [pipes.stdout, pipes.stderr]) closeSync(pipe.writeFd);
  }
}

function openPipes() {
  const stdout = openPipe();
  const stderr = openPipe();
  if (stdout.ok && stderr.ok) return { stdout: stdout.value, stderr: stderr.value };
  for (const pipe of [stdout, stderr]) {
    if (!pipe.ok) continue;
    closeSync(pipe.value.writeFd);
    pipe.value.stop();
  }
  return undefined;
}

function fromStream(stream: ReadableStream<Uint8Array> | undefined): ChildStream {
  const reader = stream?.getReader();
  return {
    async read(onBytes) {
      for (;;) {
        const next = await reader?.read().catch(() => undefined);
        if (next?.value === undefined) return;
        onBytes(next.value);
      }
    },
    stop: () => void reader?.cancel().catch(() => undefined),
  };
}

const REASONS: Readonly<Record<string, StartFailureReason>> = {
  ENOENT: "program-missing",
  ENOTDIR: "program-missing",
  EACCES: "not-permitted",
  EPERM: "not-permitted",
  ENOEXEC: "not-permitted",
  E2BIG: "arguments-too-long",
  EAGAIN: "no-resources",
  ENOMEM: "no-resources",
  EMFILE: "no-resources",
  ENFILE: "no-resources",
  ERR_INVALID_ARG_VALUE: "invalid-argument",
  ERR_INVALID_ARG_TYPE: "invalid-argument",
};

/** The operating system says ENOENT both for a missing program and a missing folder: the folder is looked at again. */
export function startFailure(request: Pick<ProcessRequest, "argv" | "cwd">, cause: unknown): StartFailure {
  const program = request.argv[0];
  const code = errorCode(cause);
  const reason = folderFailure(request.cwd) ?? REASONS[code] ?? "unknown";
  return { reason, message: describeStartFailure(reason, program, request.cwd, code), cause };
}

function describeStartFailure(
  reason: StartFailureReason,
  program: string,
  cwd: string,
  code: string,
): string {
  switch (reason) {
    case "program-missing":
      return `${program}: program not found (${code})`;
    case "cwd-missing":
      return `${cwd}: the folder to run in does not exist or cannot be entered`;
    case "not-permitted":
      return `${program}: not allowed to run (${code})`;
    case "arguments-too-long":
      return `${program}: the arguments and environment are too long (${code})`;
    case "no-resources":
      return `${program}: the machine has no room for another process (${code})`;
    case "invalid-argument":
      return `${program}: an argument or variable contains a NUL byte (${code})`;
    case "unknown":
      return `${program}: could not be started (${code})`;
  }
}

function folderFailure(cwd: string): StartFailureReason | undefined {
  try {
    return statSync(cwd).isDirectory() ? undefined : "cwd-missing";
  } catch {
    return "cwd-missing";
  }
}

function errorCode(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : String(cause);
}
