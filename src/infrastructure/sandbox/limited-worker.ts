import { landlockAbi, restrictThread, SIGNALS_ABI } from "../platform/landlock.ts";
import { createProcessRunner } from "../platform/process-runner.ts";
import { maySignal } from "../platform/process-table.ts";
import { createProcessServer, encodeFrame } from "./executor-channel.ts";
import type { LimitedWorkerSettings } from "./limited-copy.ts";

interface WorkerPort {
  postMessage(message: Uint8Array): void;
  onmessage: ((event: { readonly data: LimitedWorkerSettings | Uint8Array }) => void) | null;
}

/** The thread that runs a limited job's processes: it restricts itself first, and what it starts inherits that. */
export function serveLimited(port: WorkerPort): void {
  port.onmessage = ({ data }) => {
    if (data instanceof Uint8Array) return;
    const restricted = restrictThread(data.restriction);
    const signalsOwnOnly = restricted.ok && landlockAbi() >= SIGNALS_ABI && !maySignal(process.ppid);
    const runner = createProcessRunner({ register: data.register, signalsOwnOnly });
    const serve = createProcessServer(runner, (frame) => port.postMessage(frame));
    port.onmessage = (event) => {
      if (event.data instanceof Uint8Array) serve(event.data);
    };
    port.postMessage(encodeFrame({ ready: true, ok: restricted.ok }));
  };
}
