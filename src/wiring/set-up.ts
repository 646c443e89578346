import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { OpenedSetUp } from "../application/ports/setup.ts";
import { createSetUp } from "../application/setup/setup-steps.ts";
import { DEFAULTS } from "../config/config.ts";
import { homeConfigFile, resolveHome } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { ollamaPlaces } from "../config/usual-variables.ts";
import { resolveLocale } from "../domain/texts/locale.ts";
import { openEngine, readEngineFacts } from "../infrastructure/containers/docker-engine.ts";
import { findLoggedInHeads } from "../infrastructure/heads/heads.ts";
import { findModels } from "../infrastructure/models/find-sources.ts";
import { findProgram } from "../infrastructure/platform/find-program.ts";
import { findReach } from "../infrastructure/platform/git-roots.ts";
import * as setup from "../infrastructure/setup/survey-machine.ts";
import { openModels } from "./models.ts";
import type { Environment } from "./services.ts";

/** `anew`: ignores the current file, including its mistakes. */
export async function openSetUp(
  env: Environment,
  options: OpenOptions & { readonly startOver: boolean },
): Promise<OpenedSetUp> {
  const { configFile, startOver, ...place } = options;
  const file = configFile === undefined ? homeConfigFile(resolveHome(env)) : resolve(options.cwd, configFile);
  const before = await loadConfig({ env, ...place });
  if (!before.ok && !startOver) return { ok: false, locale: resolveLocale({ env }), problems: before.errors };
  const config = before.ok ? before.config : DEFAULTS;
  const engine = openEngine(config.command_executor.docker, env);
  const surveyed = await setup.surveyMachine({
    env,
    findModels: (signal) =>
      findModels(
        { env, providers: config.providers, ollama: ollamaPlaces(before.ok ? before : null, env) },
        signal,
      ),
    async dockerVersion(signal) {
      const facts = "ok" in engine ? null : await readEngineFacts(engine, signal);
      return facts?.ok ? facts.engineVersion : null;
    },
    hasProgram: (name) => findProgram(name, env.PATH ?? "") !== null,
  });
  const heads = findLoggedInHeads({ env, home: env.HOME || homedir(), now: () => new Date() });
  return createSetUp({
    locale: resolveLocale({ env, config }),
    file,
    found: { ...surveyed, heads },
    foreign: findForeignRepository(resolve(place.cwd, place.workspace ?? ".")),
    exists: () => setup.isThere(file),
    write: (text, replace) => setup.writeFirstConfig(file, text, replace),
    keepWindow: (model, window) => setup.keepWindow(resolveHome(env), model, window),
    openModels: (text) => modelsOf(env, place, file, text),
  });
}

function findForeignRepository(folder: string) {
  return existsSync(folder) ? findReach(realpathSync(folder)).foreign : null;
}

async function modelsOf(env: Environment, { cwd }: OpenOptions, file: string, text: string) {
  const loaded = await loadConfig({ env, cwd, configFile: file, instead: { file, text } });
  if (!loaded.ok) throw new Error(loaded.errors.map(({ code }) => code).join(", "));
  const { secrets, home } = loaded;
  // The user is waiting, so a server that does not answer is not retried.
  const config = { ...loaded.config, models: { ...loaded.config.models, retries: 0 } };
  const models = openModels(config, secrets, { env, home, locale: resolveLocale({ env, config }) });
  return { models, coder: config.roles.default_coder };
}
