import type { Model, ModelCheck, Models } from "../../application/ports/models.ts";
import type { Timers } from "../../application/ports/platform.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { modelMessagesFor } from "../../domain/texts/models.ts";

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
export function watchHealth(deps: HealthWatchDeps) {
  const { model, intervalMs, timeoutMs, onChange, after } = deps;
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
    /** Undefined before the first look. */
    latest: (): ModelCheck | undefined => latest,
    stop: (): void => {
      ending.abort();
      cancel();
    },
  };
}

export interface WatchModelsDeps {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly locale: Locale;
  readonly after: Timers["after"];
  readonly say: (line: string) => void;
}

/** Says when the model of chat or worker falls ill and when it is well again, until the returned function is called. */
export function watchModels(
  models: Models,
  { intervalMs, timeoutMs, locale, after, say }: WatchModelsDeps,
): () => void {
  const { doctor } = modelMessagesFor(locale);
  const watches = (["chat", "worker"] as const).flatMap((role) => {
    const model = models.forRole(role);
    if ("code" in model) {
      say(model.message);
      return [];
    }
    // Which model it is may only be known after a look.
    const current = () => {
      const now = models.forRole(role);
      return "code" in now ? model : now;
    };
    const title = () => {
      const { provider, model: name } = current();
      return doctor.role(role, role === "chat" ? "Mio" : "Shiro", `${provider} ${name}`);
    };
    const check = async (signal: AbortSignal): Promise<ModelCheck> => {
      await models.look?.(signal);
      return current().check(signal);
    };
    let first = true;
    const onChange = (seen: ModelCheck) => {
      if (!seen.ok) say(`${title()}: ${seen.failure.message}${seen.remedy ? `\n→ ${seen.remedy}` : ""}`);
      else if (!first) say(`${title()}: ${seen.detail}`);
      first = false;
    };
    return watchHealth({ model: { check }, intervalMs, timeoutMs, onChange, after });
  });
  return () => {
    for (const watch of watches) watch.stop();
  };
}
