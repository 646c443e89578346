import type { WorkerAccount } from "../application/models/meter.ts";
import type { Model, ModelRole } from "../application/ports/models.ts";
import { resolveLocale } from "../config/locale.ts";
import { memoryMessagesFor } from "../domain/texts/texts.ts";
import type { OpenedFolder } from "./workspace.ts";

interface TaskAccount {
  /** The planner; null where none was asked for. */
  readonly model: Model | null;
  readonly workers: WorkerAccount;
  /** What models cost since it was asked last. */
  costOf(): number;
  close(): Promise<void>;
}

interface AccountRequest {
  readonly id: string;
  readonly mask: (text: string) => string;
  /** Of the planner. */
  readonly role: ModelRole | null;
}

/** What a task file's planner and worker CLI use is written down and kept within the budget. */
export async function openTaskAccount(
  env: Readonly<Record<string, string | undefined>>,
  opened: OpenedFolder,
  { id, mask, role }: AccountRequest,
): Promise<TaskAccount | { readonly code: string; readonly message: string }> {
  const { config, loaded, parts } = opened;
  const [{ openModels }, { createChatMemory, memoryOptionsOf }, { openStoreOnce }] = await Promise.all([
    import("./models.ts"),
    import("./chat-memory.ts"),
    import("./store-once.ts"),
  ]);
  const locale = resolveLocale({ env, config });
  const models = openModels(config, loaded.secrets, { locale, home: loaded.home, env, mask });
  const stored = await openStoreOnce(undefined, loaded, parts.now);
  if (!stored.ok)
    return { code: "store", message: memoryMessagesFor(locale).storeUnavailable(stored.trouble) };
  const { meter } = createChatMemory(memoryOptionsOf(env, opened, { models }), stored.db);
  const metered = await meter.open({ chatKey: `task:${id}`, sessionId: id, groupId: id });
  const model = role === null ? null : metered.models.forRole(role);
  if (model !== null && "code" in model) {
    await stored.close();
    return model;
  }
  const { workers } = metered;
  let told = 0;
  return {
    model,
    workers: {
      refusal: workers.refusal,
      async count(kind, used) {
        await workers.count(kind, used);
        // A run tells its own cost.
        told += used.costUsd;
      },
    },
    costOf() {
      const { costUsd } = metered.used();
      const since = costUsd - told;
      told = costUsd;
      return since;
    },
    close: () => stored.close(),
  };
}
