import type {
  KilledProcess,
  OutputStream,
  ProcessRequest,
  ProcessResult,
  ProcessRunner,
  RunningProcess,
} from "../../application/ports/process.ts";
import { createFrameReader, encodeFrame, type Frame } from "./frames.ts";

type Send = (head: Readonly<Record<string, unknown>>) => void;

/** Runs processes inside the view, through its executor. A dead executor ends every run as "signaled". */
export function createRemoteProcesses(send: Send): {
  readonly runner: ProcessRunner;
  readonly onFrame: (frame: Frame) => void;
  readonly onEnd: () => void;
} {
  const waiting = new Map<
    number,
    {
      readonly settle: (answer: Readonly<Record<string, unknown>> | null) => void;
      readonly onOutput?: ProcessRequest["onOutput"];
    }
  >();
  let next = 1;
  let ended = false;

  function ask(
    head: Readonly<Record<string, unknown>>,
    onOutput?: ProcessRequest["onOutput"],
  ): { readonly id: number; readonly answer: Promise<Readonly<Record<string, unknown>> | null> } {
    const id = next++;
    const answer = new Promise<Readonly<Record<string, unknown>> | null>((settle) => {
      if (ended) settle(null);
      else waiting.set(id, { settle, ...(onOutput !== undefined && { onOutput }) });
    });
    if (!ended) send({ ...head, id });
    return { id, answer };
  }

  const runner: ProcessRunner = {
    async runProcess(request) {
      const { signal, onOutput, cutNote: _, ...plain } = request;
      const started = performance.now();
      const { id, answer } = ask(
        { op: "run", request: { ...plain, timeoutMs: clampTimeout(plain.timeoutMs) } },
        onOutput,
      );
      const abort = () => send({ op: "abort", id });
      if (signal?.aborted) abort();
      signal?.addEventListener("abort", abort, { once: true });
      try {
        const got = await answer;
        return got === null ? executorDied(performance.now() - started) : (got.result as ProcessResult);
      } finally {
        signal?.removeEventListener("abort", abort);
      }
    },
    listJobProcesses: async (jobMarker) =>
      ((await ask({ op: "list", jobMarker }).answer)?.processes ?? []) as RunningProcess[],
    killJobProcesses: async (jobMarker) =>
      ((await ask({ op: "kill", jobMarker }).answer)?.processes ?? []) as KilledProcess[],
  };

  return {
    runner,
    onFrame({ head, body }) {
      const entry = waiting.get(Number(head.id));
      if (entry === undefined) return;
      if (head.output !== undefined) {
        entry.onOutput?.(head.output as OutputStream, Buffer.from(body).toString("utf8"));
        return;
      }
      waiting.delete(Number(head.id));
      entry.settle(head);
    },
    onEnd() {
      ended = true;
      for (const { settle } of waiting.values()) settle(null);
      waiting.clear();
    },
  };
}

const LONGEST_MS = 2 ** 31 - 1;

function clampTimeout(timeoutMs: number): number {
  return Math.min(timeoutMs, LONGEST_MS);
}

function executorDied(durationMs: number): ProcessResult {
  const output = "the executor of this job was ended";
  return {
    outcome: "signaled",
    exitCode: null,
    signal: "SIGKILL",
    output,
    stdout: "",
    stderr: output,
    truncatedBytes: 0,
    durationMs,
  };
}

/** The executor's side: carries out process requests and streams what they print. */
export function createProcessServer(
  runner: ProcessRunner,
  write: (frame: Uint8Array) => void,
): (bytes: Uint8Array) => void {
  const running = new Map<number, AbortController>();
  return createFrameReader(({ head }) => void handle(head));

  async function handle(head: Readonly<Record<string, unknown>>): Promise<void> {
    const id = Number(head.id);
    switch (head.op) {
      case "run": {
        const abort = new AbortController();
        running.set(id, abort);
        const onOutput = (output: OutputStream, text: string) =>
          write(encodeFrame({ id, output }, Buffer.from(text, "utf8")));
        const result = await runner.runProcess({
          ...(head.request as ProcessRequest),
          signal: abort.signal,
          onOutput,
        });
        running.delete(id);
        const { error, ...plain } = result;
        write(
          encodeFrame({
            id,
            result: {
              ...plain,
              ...(error !== undefined && { error: { ...error, cause: String(error.cause) } }),
            },
          }),
        );
        return;
      }
      case "abort":
        running.get(id)?.abort();
        return;
      case "list":
        write(encodeFrame({ id, processes: await runner.listJobProcesses(String(head.jobMarker)) }));
        return;
      case "kill":
        write(encodeFrame({ id, processes: await runner.killJobProcesses(String(head.jobMarker)) }));
    }
  }
}
