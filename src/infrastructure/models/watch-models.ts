import type { ModelCheck, Models } from "../../application/ports/models.ts";
import type { Timers } from "../../application/ports/timers.ts";
import type { Locale } from "../../domain/texts/messages.ts";
import { modelMessagesFor } from "../../domain/texts/texts.ts";
import { watchHealth } from "./health.ts";

export interface WatchModelsDeps {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly locale: Locale;
  readonly after: Timers["after"];
  readonly say: (line: string) => void;
}

/**
 * For processes that stay: looks after the models of the chat and the worker, and says when one is ill and when it is
 * well again. Returns what ends it.
 */
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
