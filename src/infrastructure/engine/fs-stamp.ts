import { closeSync, fstatSync, futimesSync, openSync } from "node:fs";

/**
 * A moment on a file system's own clock: everything written there before the call has an earlier time of change,
 * everything written after it this one or a later one. Waits for the clock's next tick where ticks are coarse.
 */
export function takeStamp(file: string): bigint {
  const fd = openSync(file, "w", 0o600);
  try {
    futimesSync(fd, 0, 0);
    const before = fstatSync(fd, { bigint: true }).ctimeNs;
    for (;;) {
      futimesSync(fd, 0, 0);
      const now = fstatSync(fd, { bigint: true }).ctimeNs;
      if (now > before) return now;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  } finally {
    closeSync(fd);
  }
}
