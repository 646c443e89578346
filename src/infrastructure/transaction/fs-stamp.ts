import { closeSync, fstatSync, futimesSync, openSync } from "node:fs";

/** A moment on a file system's own clock, strictly after everything that was written there before the call. */
export function takeStamp(file: string, notBefore = 0n): bigint {
  const fd = openSync(file, "w", 0o600);
  try {
    for (;;) {
      const now = fstatSync(fd, { bigint: true }).ctimeNs;
      if (now > notBefore) return now;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
      futimesSync(fd, 0, 0);
    }
  } finally {
    closeSync(fd);
  }
}
