import type { ModelCheck, Models } from "../application/ports/model.ts";
import type { Config } from "../config/config.ts";
import type { Locale } from "../domain/texts/messages.ts";
import { modelMessagesFor } from "../domain/texts/models/messages.ts";
import { watchHealth } from "../infrastructure/models/health.ts";

/**
 * For processes that stay: looks after the models of the chat and the worker, and says when one is ill and when it is
 * well again. Returns what ends it.
 */
export function watchModels(
  models: Models,
  config: Config,
  { locale, say }: { readonly locale: Locale; readonly say: (line: string) => void },
): () => void {
  const { doctor } = modelMessagesFor(locale);
  const watches = (["chat", "worker"] as const).flatMap((role) => {
    const model = models.forRole(role);
    if ("code" in model) {
      say(model.message);
      return [];
    }
    const title = doctor.role(role, role === "chat" ? "Mio" : "Shiro", `${model.provider} ${model.model}`);
    let first = true;
    const onChange = (check: ModelCheck) => {
      if (!check.ok) say(`${title}: ${check.failure.message}${check.remedy ? `\n→ ${check.remedy}` : ""}`);
      else if (!first) say(`${title}: ${check.detail}`);
      first = false;
    };
    return watchHealth({
      model,
      intervalMs: config.ollama.health_check_interval * 1000,
      timeoutMs: config.models.connect_timeout * 1000,
      onChange,
      after: (ms, call) => {
        const timer = setTimeout(call, ms);
        timer.unref();
        return () => clearTimeout(timer);
      },
    });
  });
  return () => {
    for (const watch of watches) watch.stop();
  };
}
