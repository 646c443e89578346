import { restrictThread } from "../platform/landlock.ts";
import { createProcessServer, encodeFrame } from "./executor-channel.ts";
import type { LimitedWorkerSettings } from "./limited-copy.ts";
import { createProcessRunner } from "./process-runner.ts";

interface WorkerPort {
  postMessage(message: Uint8Array): void;
  onmessage: ((event: { readonly data: LimitedWorkerSettings | Uint8Array }) => void) | null;
}

/** The thread that runs a limited job's processes: it restricts itself first, and what it starts inherits that. */
export function serveLimited(port: WorkerPort): void {
  const serve = createProcessServer(createProcessRunner(), (frame) => port.postMessage(frame));
  port.onmessage = ({ data }) => {
    if (data instanceof Uint8Array) return serve(data);
    const restricted = restrictThread(data.restriction);
    port.postMessage(encodeFrame({ ready: true, ok: restricted.ok }));
  };
}
