import type { ProcessRunner } from "../../application/ports/process.ts";
import type { RefusedHost } from "../../application/ports/jobs-transaction.ts";
import type { SandboxPlan } from "./sandbox-plan.ts";
import type { Executor, ExecutorStart } from "./start-executor.ts";

/** A sandbox that is about to be started: everything of its plan but the roots and the job's folder. */
export interface OpenedSandbox {
  readonly sandbox: Omit<SandboxPlan, "roots" | "job" | "directory">;
  /** What a proxy outside refused; absent where there is none. */
  readonly takeRefused?: () => readonly RefusedHost[];
  /** To be called once, when the sandbox is gone. */
  readonly release: () => void;
}

/** An executor that comes and goes while its job stays. */
export interface Wakeable {
  readonly processes: ProcessRunner;
  readonly call: Executor["call"];
  /** Why one of them ended before it was told to. */
  readonly whyEnded: () => Error | null;
  readonly takeRefused: () => readonly RefusedHost[];
  isAwake(): boolean;
  /** Null when it stands, else the complaint. Idempotent. */
  wake(): Promise<string | null>;
  /** Idempotent. */
  rest(): Promise<void>;
}

export function createWakeable(parts: {
  readonly open: () => Promise<OpenedSandbox>;
  readonly start: (sandbox: OpenedSandbox["sandbox"]) => Promise<ExecutorStart>;
}): Wakeable {
  let awake: { readonly executor: Executor; readonly opened: OpenedSandbox } | null = null;
  let why: Error | null = null;
  const refused: RefusedHost[] = [];
  const executor = (): Executor => {
    if (awake === null) throw new Error("the sandbox of this job rests");
    return awake.executor;
  };
  const collect = () => void refused.push(...(awake?.opened.takeRefused?.() ?? []));
  return {
    processes: {
      runProcess: (request) => executor().processes.runProcess(request),
      listJobProcesses: async (job) => (await awake?.executor.processes.listJobProcesses(job)) ?? [],
      killJobProcesses: async (job) => (await awake?.executor.processes.killJobProcesses(job)) ?? [],
    },
    call: (head, body) => executor().call(head, body),
    whyEnded: () => why ?? awake?.executor.whyEnded() ?? null,
    isAwake: () => awake !== null,
    takeRefused() {
      collect();
      return refused.splice(0);
    },
    async wake() {
      if (awake !== null) return null;
      const opened = await parts.open();
      const started = await parts.start(opened.sandbox);
      if (!started.ok) {
        opened.release();
        return started.complaint;
      }
      awake = { executor: started.executor, opened };
      return null;
    },
    async rest() {
      if (awake === null) return;
      const { executor, opened } = awake;
      why ??= executor.whyEnded();
      collect();
      awake = null;
      await executor.stop();
      opened.release();
    },
  };
}
