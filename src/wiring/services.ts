import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Models } from "../application/ports/models.ts";
import type { Logger } from "../application/ports/platform.ts";
import type { LoadedConfig } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { createMasker } from "../domain/platform/mask.ts";
import { type Messages, messagesFor } from "../domain/texts/jobs.ts";
import { type Locale, resolveLocale } from "../domain/texts/locale.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import { hideSecrets } from "../infrastructure/platform/standard-streams.ts";
import type { OpenedStore, StoreOptions } from "./store.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration of one place and everything that commands share over it. Each part is made when it is first used. */
export interface Services extends LoadedConfig {
  readonly env: Environment;
  readonly options: OpenOptions;
  readonly locale: Locale;
  readonly messages: Messages;
  /** As `database_url`, its reference resolved; the embedded store where it is not set. */
  readonly databaseUrl: string | undefined;
  readonly log: Logger;
  mask(text: string): string;
  now(): Date;
  /** Opens the store of this installation, or says why not and what helps. */
  openStore(options?: StoreOptions): Promise<OpenedStore>;
  /** The configured models; nothing is contacted until one of them is asked. `mask` defaults to the one above. */
  models(mask?: (text: string) => string): Promise<Models>;
  refuse(message: string): NotOpened & { readonly message: string };
}

export async function openServices(env: Environment, options: OpenOptions): Promise<Services | NotOpened> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  return createServices(env, options, loaded);
}

/** The same for a caller that has the configuration already. */
export function createServices(env: Environment, options: OpenOptions, loaded: LoadedConfig): Services {
  const { config, home, secrets } = loaded;
  const locale = resolveLocale({ env, config });
  const messages = messagesFor(locale);
  const made: { masker?: ReturnType<typeof createMasker> } = {};
  const mask = (text: string) => {
    made.masker ??= createMasker({ secrets: secrets.values() });
    return made.masker.mask(text);
  };
  hideSecrets(() => secrets.values());
  const services: Services = {
    ...loaded,
    env,
    options,
    locale,
    messages,
    databaseUrl: secrets.resolve(config.database_url),
    log: createLineLogger({ home, file: config.log.file, level: config.log.level, mask }),
    mask,
    now: () => new Date(),
    openStore: async (given) => (await import("./store.ts")).openOwnStore(services, given),
    models: async (masked = mask) =>
      (await import("./models.ts")).openModels(config, secrets, { locale, home, env, mask: masked }),
    refuse: (message) => ({ ok: false, exitCode: 3, messages, problems: [], message }),
  };
  return services;
}

/** Loaded with the first command that is judged. */
export const loadShellParser = async () =>
  (await import("../infrastructure/policy/parse-shell.ts")).parseShell;
