import { closeSync } from "node:fs";
import { failure, type LibcResult, libc, UNSUPPORTED } from "./libc.ts";

const O_CLOEXEC = 0o2000000;

/** A pipe whose write end goes to a child. Close `writeFd` here once the child has it, or the end never comes. */
export interface ReadablePipe {
  readonly writeFd: number;
  /** Called once. Resolves at the end of the stream, or soon after `stop`. What `onBytes` throws ends the reading. */
  readonly read: (onBytes: (bytes: Uint8Array) => void) => Promise<void>;
  /** Called once, before or while reading. */
  readonly stop: () => void;
}

/**
 * A real pipe: the runtime's own child streams are sockets, and a script that writes to
 * `/dev/stdout` or `/dev/stderr` cannot open a socket again ("No such device or address").
 */
export function openPipe(): LibcResult<ReadablePipe> {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  const ends = new Int32Array(2);
  const status = lib.platform === "linux" ? lib.c.pipe2(ends, O_CLOEXEC) : lib.c.pipe(ends);
  if (status !== 0) return failure(lib);
  const [readFd = -1, writeFd = -1] = ends;
  const reading: { cancel?: () => void } = {};
  const read = async (onBytes: (bytes: Uint8Array) => void) => {
    const reader = Bun.file(readFd).stream().getReader();
    reading.cancel = () => void reader.cancel().catch(() => undefined);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        onBytes(value);
      }
    } catch {
      // A broken read end is the end of the stream.
    } finally {
      closeSync(readFd);
    }
  };
  const stop = () => (reading.cancel ? reading.cancel() : closeSync(readFd));
  return { ok: true, value: { writeFd, read, stop } };
}
