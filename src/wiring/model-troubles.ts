import type { OpenOptions } from "../application/ports/opening.ts";
import { loadConfig } from "../config/load.ts";
import { resolveLocale } from "../config/locale.ts";
import { openModels } from "./models.ts";

/** Why roles that every user meets cannot answer as configured; nobody is contacted. */
export async function modelTroubles(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
): Promise<{ readonly role: string; readonly code: string; readonly message: string }[]> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok) return [];
  const { config, secrets, home } = loaded;
  const models = openModels(config, secrets, { env, home, locale: resolveLocale({ env, config }) });
  return (["chat", "worker", config.roles.default_coder] as const).flatMap((role) => {
    const model = models.forRole(role);
    return "code" in model ? [{ role, code: model.code, message: model.message }] : [];
  });
}
