import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { StoreData } from "../application/ports/store.ts";
import { homeConfigFile } from "../config/environment.ts";
import { type MemoryMessages, memoryMessagesFor } from "../domain/texts/chat.ts";
import { parseWorkspaceName, workspaceName } from "../infrastructure/fleet/workspace-name.ts";
import { jobStorages } from "../infrastructure/platform/workspace-storage.ts";
import { forgetPerson } from "../infrastructure/serve/retention-store.ts";
import { createStoreData } from "../infrastructure/store/backup.ts";
import { VERSION } from "../version.ts";
import { type Environment, openServices } from "./services.ts";

export async function openStoreData(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly data: StoreData; readonly words: MemoryMessages } | NotOpened> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const { home, now, locale } = services;
  const opened = await services.openStore();
  if (!opened.ok) return opened;
  const { db } = opened;
  const data = createStoreData({
    db,
    home,
    version: VERSION,
    configFile: homeConfigFile(home),
    now,
    undoData: () => jobStorages(home),
    nameIn: (databaseUrl, name) => workspaceName({ home, databaseUrl, root: parseWorkspaceName(name).root }),
    forget: (person) => forgetPerson(db, person),
  });
  return { ok: true, data, words: memoryMessagesFor(locale) };
}
