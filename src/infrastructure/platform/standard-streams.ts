import { fstatSync, writeSync } from "node:fs";
import { hideKnown, knownForms } from "../../domain/platform/known-secrets.ts";

/** Who says which secrets this process knows, and the forms that were found; a value that was known once stays hidden. */
const known = { ask: [] as (() => readonly string[])[], values: new Set<string>(), forms: [] as string[] };

/** From now on these values leave the process on no stream, in texts and in names of files alike. Asked with the first text. */
export function hideSecrets(values: () => readonly string[]): void {
  known.ask.push(values);
}

/** A text that leaves the process, without the secrets that it knows. */
export function maskAtEdge(text: string): string {
  if (known.ask.length > 0) {
    for (const ask of known.ask.splice(0)) for (const value of ask()) known.values.add(value);
    known.forms = knownForms([...known.values]);
  }
  return hideKnown(text, known.forms);
}

/** Writes all of a text, without known secrets, before it returns; `process.stdout` takes ten milliseconds to set up. EPIPE is ignored. */
export function writeAll(descriptor: 1 | 2, text: string): void {
  writeBytes(descriptor, Buffer.from(maskAtEdge(text), "utf8"));
}

/** False if the reader has closed the stream. */
export function writeBytes(descriptor: number, bytes: Uint8Array): boolean {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      if ((error as { code?: string }).code !== "EAGAIN") return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
  return true;
}

/** Whether a person reads or types at the other end. */
export function isTerminal(descriptor: 0 | 1 | 2): boolean {
  try {
    const stats = fstatSync(descriptor);
    // `/dev/null` and its kin on Linux; asking `node:tty` about them would cost eight milliseconds.
    if (!stats.isCharacterDevice() || (process.platform === "linux" && ((stats.rdev >> 8) & 0xfff) === 1))
      return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule("node:tty").isatty(descriptor);
}
