import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRunner } from "../../application/ports/process.ts";
import type { Restriction } from "../platform/landlock.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import { createRemoteProcesses } from "./executor-channel.ts";

/** What the thread is told first. */
export interface LimitedWorkerSettings {
  readonly restriction: Restriction;
}

export interface LimitedProcesses {
  readonly processes: ProcessRunner;
  readonly stop: () => void;
}

/**
 * Runs processes from a thread that has restricted itself by Landlock. Null where a trial command could write to a folder
 * outside all the same, or the thread could not be restricted: then nothing is promised.
 */
export async function startLimited(at: {
  readonly entry: string;
  readonly restriction: Restriction;
  /** A folder outside of everything that may be written to. */
  readonly outside: string;
  /** A folder that may be written to. */
  readonly inside: string;
}): Promise<LimitedProcesses | null> {
  const thread = new Worker(at.entry, { smol: true });
  const remote = createRemoteProcesses((head) => thread.postMessage(encodeFrame(head)));
  const ready = Promise.withResolvers<boolean>();
  const read = createFrameReader((frame) =>
    frame.head.ready === true ? ready.resolve(frame.head.ok === true) : remote.onFrame(frame),
  );
  thread.onmessage = ({ data }: { data: Uint8Array }) => read(data);
  thread.onerror = () => {
    ready.resolve(false);
    remote.onEnd();
  };
  const stop = () => {
    remote.onEnd();
    thread.terminate();
  };
  thread.postMessage({ restriction: at.restriction } satisfies LimitedWorkerSettings);
  if ((await ready.promise) && (await isRestrictionEffective(remote.runner, at)))
    return { processes: remote.runner, stop };
  stop();
  return null;
}

/** A command that must write inside and must not outside; what it could do, not what the kernel says, counts. */
async function isRestrictionEffective(
  runner: ProcessRunner,
  { outside, inside }: { readonly outside: string; readonly inside: string },
): Promise<boolean> {
  const [out, own] = [join(outside, "trial"), join(inside, "trial")];
  const script = ': > "$1"; : > "$2"';
  await runner.runProcess({
    argv: ["/bin/sh", "-c", script, "sh", own, out],
    cwd: inside,
    env: { PATH: "/usr/bin:/bin" },
    jobMarker: "trial",
    timeoutMs: 5000,
    outputLimitBytes: 1024,
  });
  const held = existsSync(own) && !existsSync(out);
  for (const file of [own, out]) rmSync(file, { force: true });
  return held;
}
