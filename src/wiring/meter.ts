import type { Kysely } from "kysely";
import { createMeter } from "../application/models/meter.ts";
import type { Models } from "../application/ports/models.ts";
import type { ModelCall } from "../application/ports/models-meter.ts";
import { costBy } from "../domain/models/catalogue.ts";
import { createDayClock, type MachineZone } from "../domain/platform/days.ts";
import { workspaceName } from "../infrastructure/fleet/workspace-name.ts";
import { loadCatalogue } from "../infrastructure/models/own-catalogue.ts";
import { createUsageStore } from "../infrastructure/models/usage-store.ts";
import { machineZoneName } from "../infrastructure/platform/timers.ts";
import type { TurnFenceDeps } from "../infrastructure/store/liveness.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import type { Services } from "./services.ts";

export interface MeterOptions {
  readonly db: Kysely<Database>;
  readonly root: string;
  readonly models: Models;
  readonly now?: () => Date;
  readonly held?: TurnFenceDeps["held"];
  readonly onModelCall?: ((call: ModelCall) => void) | undefined;
}

/** Writes down what models are asked for and keeps it within the budget. */
export function openMeter(services: Services, options: MeterOptions) {
  const { config, log } = services;
  const { models, now = services.now } = options;
  const workspace = workspaceName({ ...services, root: options.root });
  const clock = createDayClock(config.session.timezone ?? machineZone(services.env), config.session.cutover);
  const usage = createUsageStore(options.db, options.held);
  const { catalogue, trouble } = loadCatalogue(services.home);
  if (trouble !== null)
    log.warn("models", "Table of models not usable", "models.table_refused", { ...trouble });
  const meter = createMeter({
    models,
    usage,
    costOf: costBy(config.budget.prices, catalogue),
    budget: { ...config.budget, perMessage: config.coder.budget_usd },
    fallback: config.coder.fallback,
    now,
    log,
    startOfDay: clock.startOfDay,
    onCall: options.onModelCall,
  });
  return { meter, usage, clock, catalogue, workspace };
}

function machineZone({ TZ }: Services["env"]): MachineZone {
  return { name: TZ || machineZoneName() };
}
