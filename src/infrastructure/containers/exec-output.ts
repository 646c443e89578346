import type { OutputStream } from "../../application/ports/process.ts";
import type { ExecRequest } from "../../application/ports/containers.ts";
import { createOutputCapture } from "../engine/output-capture.ts";
import { createCharacterGate } from "../engine/utf8-boundary.ts";

/** Both streams of one command: live where asked for, and what is kept of each. */
export function createExecOutput(
  request: Pick<ExecRequest, "outputLimitBytes" | "cutNote" | "onOutput" | "onBytes">,
) {
  const streamOf = (name: OutputStream) => {
    const kept = createOutputCapture(request.outputLimitBytes, request.cutNote);
    const gate = createCharacterGate((bytes) =>
      request.onOutput?.(name, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()),
    );
    return { kept, gate };
  };
  const streams = { stdout: streamOf("stdout"), stderr: streamOf("stderr") };
  return {
    add(name: OutputStream, bytes: Uint8Array): void {
      streams[name].kept.add(bytes);
      request.onBytes?.(name, bytes);
      if (request.onOutput) streams[name].gate.add(bytes);
    },
    skip(name: OutputStream, bytes: number): void {
      streams[name].kept.skip(bytes);
    },
    finish() {
      streams.stdout.gate.end();
      streams.stderr.gate.end();
      const [stdout, stderr] = [streams.stdout.kept.finish(), streams.stderr.kept.finish()];
      return {
        stdout: stdout.text,
        stderr: stderr.text,
        truncatedBytes: stdout.cutBytes + stderr.cutBytes,
      };
    },
  };
}
