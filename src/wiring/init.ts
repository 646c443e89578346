import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { OpenOptions } from "../application/ports/opening.ts";
import type { Config } from "../config/config.ts";
import { homeConfigFile, resolveHome } from "../config/home.ts";
import { loadConfig } from "../config/load.ts";
import { resolveLocale } from "../config/locale.ts";
import type { Secrets } from "../config/secrets.ts";
import { firstConfig } from "../domain/setup/first-config.ts";
import { CODER_KEYS, type Found } from "../domain/setup/found.ts";
import type { InitOutcome } from "../domain/setup/init-outcome.ts";
import { setupMessagesFor } from "../domain/texts/texts.ts";
import { readFacts } from "../infrastructure/environments/engine/engine-facts.ts";
import { listModels } from "../infrastructure/models/list-models.ts";
import { findProgram } from "../infrastructure/work/overlay/staging.ts";
import { openEngine } from "./docker-sandbox.ts";

type Env = Readonly<Record<string, string | undefined>>;

const PATIENCE_MS = 2000;

/** 1. what holds so far  2. what this machine has  3. the file, unless there is one  4. what holds with it. */
export async function init(env: Env, options: OpenOptions): Promise<InitOutcome> {
  const { configFile, ...place } = options;
  const file = configFile === undefined ? homeConfigFile(resolveHome(env)) : resolve(options.cwd, configFile);
  const before = await loadConfig({ env, ...place });
  if (!before.ok) return { ok: false, locale: resolveLocale({ env }), problems: before.errors };
  const found = await survey(env, before.config);
  const locale = resolveLocale({ env, config: before.config });
  const written = writeNew(file, firstConfig(found, setupMessagesFor(locale).file));
  const after = await loadConfig({ env, ...options });
  if (!after.ok) return { ok: false, locale, problems: after.errors };
  const { config, secrets } = after;
  return {
    ok: true,
    locale: resolveLocale({ env, config }),
    file,
    written,
    found,
    ...readiness(config, found, secrets),
  };
}

async function survey(env: Env, config: Config): Promise<Found> {
  const { docker } = config.command_executor;
  const engine = openEngine(docker, env);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const [models, facts] = await Promise.all([
    listModels(config.ollama.base_url, signal),
    "ok" in engine ? null : readFacts(engine, signal),
  ]);
  return {
    ollama: { baseUrl: config.ollama.base_url, reachable: models !== null, models: models ?? [] },
    keys: CODER_KEYS.map(({ variable }) => ({ variable, there: Boolean(env[variable]) })),
    docker: facts?.ok ? { version: facts.engineVersion } : null,
    bubblewrap: process.platform === "linux" ? findProgram("bwrap", env.PATH ?? "") !== null : null,
  };
}

/** False when something stands there already, whatever it is. A file that could not be written whole is none. */
function writeNew(file: string, text: string): boolean {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    rmSync(file, { force: true });
    throw error;
  }
}

function readiness(config: Config, { ollama }: Found, secrets: Secrets) {
  const { chat, default_coder: coder } = config.roles;
  const wanted = chat.provider === "ollama" ? (chat.model ?? "") : null;
  const pulled = (model: string) =>
    ollama.models.includes(model) || ollama.models.includes(`${model}:latest`);
  const { provider, model } = config.roles[coder];
  const settings = config.providers[provider];
  return {
    missingModel: wanted !== null && ollama.reachable && !pulled(wanted) ? wanted : null,
    talks: wanted === null || pulled(wanted),
    codes:
      provider === "ollama"
        ? pulled(model ?? "")
        : settings?.api_key === null || secrets.resolve(settings?.api_key) !== undefined,
  };
}
