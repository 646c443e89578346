import { fstatSync, writeSync } from "node:fs";

/**
 * Writes all of a text to a descriptor before it returns. `process.stdout` would do, but setting up its stream costs
 * ten milliseconds. A reader that went away (EPIPE) is not our failure; one that is slow is waited for.
 */
export function writeAll(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const code = (error as { code?: string }).code;
      if (code !== "EAGAIN") return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Whether a person reads or types at the other end. */
export function isTerminal(descriptor: 0 | 1 | 2): boolean {
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isCharacterDevice() || isMemoryDevice(stats.rdev)) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule("node:tty").isatty(descriptor);
}

/** `/dev/null` and its kin on Linux; asking `node:tty` about them would cost eight milliseconds. */
function isMemoryDevice(device: number): boolean {
  return process.platform === "linux" && ((device >> 8) & 0xfff) === 1;
}
