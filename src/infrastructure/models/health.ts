import type { Model, ModelCheck } from "../../application/ports/models.ts";

export interface HealthWatch {
  /** Undefined before the first look. */
  latest(): ModelCheck | undefined;
  stop(): void;
}

export interface HealthWatchDeps {
  readonly model: Pick<Model, "check">;
  readonly intervalMs: number;
  /** A look that takes longer counts as failed. */
  readonly timeoutMs: number;
  /** The first look, and every change from well to ill or back; must not throw. */
  readonly onChange: (check: ModelCheck) => void;
  /** Calls back once after that time; returns what takes the call back. Must not keep the process alive. */
  readonly after: (ms: number, call: () => void) => () => void;
}

/** Looks after a model as long as a process lives: at once, then at intervals, never two looks at a time. */
export function watchHealth(parts: HealthWatchDeps): HealthWatch {
  const { model, intervalMs, timeoutMs, onChange, after } = parts;
  const ending = new AbortController();
  let latest: ModelCheck | undefined;
  let cancel = () => {};
  const look = async () => {
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(timeoutMs)]);
    const check = await model.check(signal);
    if (ending.signal.aborted) return;
    const changed = latest?.ok !== check.ok;
    latest = check;
    if (changed) onChange(check);
    cancel = after(intervalMs, () => void look());
  };
  void look();
  return {
    latest: () => latest,
    stop: () => {
      ending.abort();
      cancel();
    },
  };
}
