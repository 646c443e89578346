import { homedir } from "node:os";
import { resolve } from "node:path";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { OpenedSetUp } from "../application/ports/setup.ts";
import { testChoice } from "../application/setup/setup-steps.ts";
import { DEFAULTS } from "../config/config.ts";
import { homeConfigFile, resolveHome, resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { isOwnVariable } from "../config/usual-variables.ts";
import { ollamaAddress } from "../domain/config/provider-addresses.ts";
import { firstConfig, type ModelChoice } from "../domain/setup/first-config.ts";
import { setupMessagesFor } from "../domain/texts/setup.ts";
import { openEngine, readEngineFacts } from "../infrastructure/containers/docker-engine.ts";
import { findProgram } from "../infrastructure/engine/staging.ts";
import { findLoggedInHeads } from "../infrastructure/heads/heads.ts";
import { isThere, surveyMachine, writeFirstConfig } from "../infrastructure/setup/sources.ts";
import { openModels } from "./models.ts";
import type { Environment } from "./services.ts";

/** `anew`: whatever the file says now does not count, mistakes included. */
export async function openSetUp(
  env: Environment,
  options: OpenOptions & { readonly anew: boolean },
): Promise<OpenedSetUp> {
  const { configFile, anew, ...place } = options;
  const file = configFile === undefined ? homeConfigFile(resolveHome(env)) : resolve(options.cwd, configFile);
  const before = await loadConfig({ env, ...place });
  if (!before.ok && !anew) return { ok: false, locale: resolveLocale({ env }), problems: before.errors };
  const config = before.ok ? before.config : DEFAULTS;
  const isGiven = before.ok && isOwnVariable(before.sources["ollama.base_url"]);
  const told = isGiven ? null : ollamaAddress(env.OLLAMA_HOST);
  const engine = openEngine(config.command_executor.docker, env);
  const surveyed = await surveyMachine({
    env,
    providers: config.providers,
    ollama: told === null ? [config.ollama.base_url, DEFAULTS.ollama.base_url] : [told],
    async dockerVersion(signal) {
      const facts = "ok" in engine ? null : await readEngineFacts(engine, signal);
      return facts?.ok ? facts.engineVersion : null;
    },
    hasProgram: (name) => findProgram(name, env.PATH ?? "") !== null,
  });
  const heads = findLoggedInHeads({ env, home: env.HOME || homedir(), now: () => new Date() });
  const found = { ...surveyed, heads };
  const locale = resolveLocale({ env, config });
  const textOf = (choice: ModelChoice) => firstConfig(found, choice, setupMessagesFor(locale).file);
  return {
    ok: true,
    locale,
    file,
    found,
    exists: () => isThere(file),
    test: async (choice, signal) =>
      testChoice(choice, await modelsOf(env, place, file, textOf(choice)), signal),
    write: (choice, { replace }) => writeFirstConfig(file, textOf(choice), replace),
  };
}

/** The models as this very text would configure them. */
async function modelsOf(env: Environment, { cwd }: OpenOptions, file: string, text: string) {
  const loaded = await loadConfig({ env, cwd, configFile: file, instead: { file, text } });
  if (!loaded.ok) throw new Error(loaded.errors.map(({ code }) => code).join(", "));
  const { secrets, home } = loaded;
  // A person waits: whoever does not answer is asked once.
  const config = { ...loaded.config, models: { ...loaded.config.models, retries: 0 } };
  const models = openModels(config, secrets, { env, home, locale: resolveLocale({ env, config }) });
  return { models, coder: config.roles.default_coder };
}
