/** The calls under way, so that a server ends only when what they started has ended. */
export interface RunningCalls {
  track<T>(call: Promise<T>): Promise<T>;
  /** Resolves when none is left. */
  settled(): Promise<void>;
}

export function createRunningCalls(): RunningCalls {
  const running = new Set<Promise<unknown>>();
  return {
    track(call) {
      running.add(call);
      const done = () => void running.delete(call);
      call.then(done, done);
      return call;
    },
    async settled() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
