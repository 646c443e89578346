import { closeSync } from "node:fs";
import { JOB_VARIABLE, type OutputStream, type ProcessRequest } from "../../../application/ports/process.ts";
import { openPipe } from "../../runtime/pipe.ts";
import { setChildSubreaper, withInheritedTag } from "../../runtime/process-control.ts";
import { type SpawnedChild, spawnChild } from "../../runtime/spawn.ts";

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
