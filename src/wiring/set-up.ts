import { lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { complete, completionFailure } from "../application/models/complete.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Models } from "../application/ports/models.ts";
import type { ModelTestResult, OpenedSetUp, SetUp, WriteConfigResult } from "../application/ports/setup.ts";
import { type Config, DEFAULTS } from "../config/config.ts";
import { homeConfigFile, resolveHome, resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { isOwnVariable } from "../config/usual-variables.ts";
import { ollamaAddress } from "../domain/config/provider-addresses.ts";
import {
  firstConfig,
  KEY_VARIABLES,
  type ModelChoice,
  type SetupFindings,
} from "../domain/setup/first-config.ts";
import { setupMessagesFor } from "../domain/texts/setup.ts";
import { readEngineFacts } from "../infrastructure/containers/docker-engine.ts";
import { findProgram } from "../infrastructure/engine/staging.ts";
import { listModels } from "../infrastructure/models/list-models.ts";
import { findSources } from "../infrastructure/setup/sources.ts";
import { openEngine } from "./docker-sandbox.ts";
import { openModels } from "./models.ts";

type Env = Readonly<Record<string, string | undefined>>;

const PATIENCE_MS = 4000;
/** A local model may have to be loaded first; whoever sets up is done within a minute all the same. */
const TEST_MS = { local: 50_000, cloud: 25_000 } as const;

/** `anew`: whatever the file says now does not count, mistakes included. */
export async function openSetUp(
  env: Env,
  options: OpenOptions & { readonly anew: boolean },
): Promise<OpenedSetUp> {
  const { configFile, anew, ...place } = options;
  const file = configFile === undefined ? homeConfigFile(resolveHome(env)) : resolve(options.cwd, configFile);
  const before = await loadConfig({ env, ...place });
  if (!before.ok && !anew) return { ok: false, locale: resolveLocale({ env }), problems: before.errors };
  const config = before.ok ? before.config : DEFAULTS;
  const own = before.ok && isOwnVariable(before.sources["ollama.base_url"]);
  const found = await survey(env, config, own ? null : ollamaAddress(env.OLLAMA_HOST));
  const locale = resolveLocale({ env, config });
  const textOf = (choice: ModelChoice) => firstConfig(found, choice, setupMessagesFor(locale).file);
  const setUp: SetUp = {
    exists: () => isThere(file),
    test: async (choice, signal) => {
      const models = await modelsOf(env, options, textOf(choice));
      const [chat, coder] = await Promise.all([
        choice.chat === null ? null : ask(models.models, "chat", signal),
        choice.coder === null ? null : ask(models.models, models.coder, signal),
      ]);
      return { chat, coder };
    },
    write: (choice, { replace }) => writeNew(file, textOf(choice), replace),
  };
  return { ok: true, locale, file, found, ...setUp };
}

async function survey(env: Env, config: Config, told: string | null): Promise<SetupFindings> {
  const engine = openEngine(config.command_executor.docker, env);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const [{ baseUrl, models }, sources, facts] = await Promise.all([
    findOllama(told === null ? [config.ollama.base_url, DEFAULTS.ollama.base_url] : [told], signal),
    findSources(env, config.providers, signal),
    "ok" in engine ? null : readEngineFacts(engine, signal),
  ]);
  const path = env.PATH ?? "";
  return {
    ollama: { baseUrl, reachable: models !== null, models: models ?? [] },
    sources,
    keys: KEY_VARIABLES.map((variable) => ({ variable, there: Boolean(env[variable]) })),
    github: ["GITHUB_PERSONAL_ACCESS_TOKEN", "GITHUB_TOKEN"].find((name) => env[name]) ?? null,
    git: findProgram("git", path) !== null,
    docker: facts?.ok ? { version: facts.engineVersion } : null,
    bubblewrap: process.platform === "linux" ? findProgram("bwrap", path) !== null : null,
  };
}

/** The first address that answers, else the first: a dead one in an old file does not hide the usual one. */
async function findOllama(addresses: readonly [string, ...string[]], signal: AbortSignal) {
  const asked = [...new Set(addresses)].map(async (baseUrl) => ({
    baseUrl,
    models: await listModels(baseUrl, signal),
  }));
  const answers = await Promise.all(asked);
  return answers.find(({ models }) => models !== null) ?? { baseUrl: addresses[0], models: null };
}

/** The models as this very text would configure them. */
async function modelsOf(env: Env, { cwd }: OpenOptions, text: string) {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-init-"));
  try {
    const configFile = join(folder, "config.yaml");
    writeFileSync(configFile, text, { mode: 0o600 });
    const loaded = await loadConfig({ env, cwd, configFile });
    if (!loaded.ok) throw new Error(loaded.errors.map(({ code }) => code).join(", "));
    const { secrets, home } = loaded;
    // A person waits: whoever does not answer is asked once.
    const config = { ...loaded.config, models: { ...loaded.config.models, retries: 0 } };
    const models = openModels(config, secrets, { env, home, locale: resolveLocale({ env, config }) });
    return { models, coder: config.roles.default_coder };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ask(
  models: Models,
  role: "chat" | Config["roles"]["default_coder"],
  signal: AbortSignal,
): Promise<ModelTestResult> {
  const model = models.forRole(role);
  if (!("generate" in model)) return { ok: false, why: model.message };
  const began = performance.now();
  const asked = { messages: [{ role: "user" as const, text: "Answer with the word OK." }], signal };
  const completion = await complete(model, asked, {
    deadline: AbortSignal.timeout(model.local ? TEST_MS.local : TEST_MS.cloud),
  });
  if (completion.kind === "finished" || completion.kind === "cut") {
    const answer = completion.answer.text.replace(/\s+/g, " ").trim().slice(0, 60);
    return { ok: true, answer, ms: Math.round(performance.now() - began) };
  }
  return { ok: false, why: completionFailure(completion).message };
}

function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** A file that could not be written whole does not count. */
function writeNew(file: string, text: string, replace: boolean): WriteConfigResult {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const kept = replace && isThere(file) ? `${file}.old` : null;
  if (kept !== null) renameSync(file, kept);
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return { written: true, kept };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return { written: false, why: "exists" };
    rmSync(file, { force: true });
    if (kept !== null) renameSync(kept, file);
    throw error;
  }
}
