import type { OutputStream, ProcessRequest, ProcessResult } from "../../../application/ports/process.ts";
import { createOutputCapture } from "./output-capture.ts";
import { createCharacterGate } from "./utf8-boundary.ts";

type CapturedOutput = Pick<ProcessResult, "output" | "stdout" | "stderr" | "truncatedBytes">;

/** Both streams of one process: each for itself, both together in the order of arrival, and live. */
export function createProcessOutput(request: ProcessRequest) {
  const capture = () => createOutputCapture(request.outputLimitBytes, request.cutNote);
  const both = capture();
  const open = { value: true };
  const streamOf = (name: OutputStream) => {
    const own = capture();
    const gate = createCharacterGate((bytes) => {
      own.add(bytes);
      both.add(bytes);
      request.onOutput?.(name, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    });
    return { own, gate };
  };
  const streams = { stdout: streamOf("stdout"), stderr: streamOf("stderr") };
  return {
    /** After `finish` bytes are read and forgotten: a background child must be able to go on writing. */
    add(name: OutputStream, bytes: Uint8Array): void {
      if (open.value) streams[name].gate.add(bytes);
    },
    finish(): CapturedOutput {
      streams.stdout.gate.end();
      streams.stderr.gate.end();
      open.value = false;
      const { text, cutBytes } = both.finish();
      return {
        output: text,
        stdout: streams.stdout.own.finish().text,
        stderr: streams.stderr.own.finish().text,
        truncatedBytes: cutBytes,
      };
    },
  };
}
