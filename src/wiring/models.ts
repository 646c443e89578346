import type { Models } from "../application/ports/models.ts";
import type { Config, Secrets } from "../config/config.ts";
import type { Env } from "../config/environment.ts";
import { modelLimits, modelsSettings } from "../config/settings.ts";
import { factsByCatalogue } from "../domain/models/catalogue.ts";
import { createMasker } from "../domain/platform/mask.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { modelMessagesFor } from "../domain/texts/models.ts";
import type { Fetch } from "../infrastructure/models/model-settings.ts";
import { createModels } from "../infrastructure/models/models.ts";
import { loadCatalogue } from "../infrastructure/models/own-catalogue.ts";
import { chooseConnect } from "../infrastructure/platform/connections.ts";
import { readDocument } from "../infrastructure/platform/text-files.ts";
import { pause } from "../infrastructure/platform/timers.ts";

export interface ModelsOptions {
  readonly locale: Locale;
  /** PICOCLAW_HOME: relative paths of scripts begin here. */
  readonly home: string;
  readonly env: Env;
  /** Default: a masker of all secrets that `secrets` knows. */
  readonly mask?: (text: string) => string;
}

/** The configured models; nothing is contacted until one of them is asked. */
export function openModels(config: Config, secrets: Secrets, options: ModelsOptions): Models {
  const { mask = createMasker({ secrets: secrets.values() }).mask, home, env } = options;
  const factsOf = factsByCatalogue(() => loadCatalogue(home).catalogue);
  const seesImages = (model: string) => factsOf(model)?.images ?? undefined;
  const windowOf = (model: string) => factsOf(model)?.context ?? undefined;
  return createModels(
    { ...modelsSettings(config, secrets, home), seesImages, windowOf },
    {
      fetch: fetch as unknown as Fetch,
      connects: chooseConnect(env),
      limits: modelLimits(config),
      messages: modelMessagesFor(options.locale),
      mask,
      random: Math.random,
      pause,
      loadScript: readDocument,
    },
  );
}
