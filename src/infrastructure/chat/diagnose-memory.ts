import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DoctorCheck, OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import { compileRules } from "../../domain/chat/routing-rules.ts";
import { memoryMessagesFor } from "../../domain/texts/chat.ts";
import { openMigratedStore, type StoreLocation } from "../store/open-store.ts";

/** The store that conversations live in, and the rules of the configuration that are not used. */
export async function diagnoseMemory(
  place: StoreLocation,
  { config, messages }: Pick<OpenedWorkspace, "config" | "messages">,
): Promise<DoctorCheck[]> {
  const words = memoryMessagesFor(messages.locale);
  const { problems } = compileRules(config.routing.rules, "config", () => performance.now());
  const checks: DoctorCheck[] = problems.map((problem) => ({
    name: "routing",
    ok: false,
    text: words.ruleProblem(problem),
  }));
  const { databaseUrl } = place;
  // Looking makes no file.
  if (databaseUrl === undefined && !existsSync(join(place.home, "picoclaw.db")))
    return [...checks, { name: "store", ok: true, text: words.storeKind("SQLite") }];
  const opened = await openMigratedStore(place, () => new Date(), { migrate: false });
  if (opened.ok) await opened.db.destroy();
  const [text = "", remedy] = opened.ok
    ? [words.storeKind(databaseUrl === undefined ? "SQLite" : "Postgres")]
    : words.storeUnavailable(opened.trouble).split("\n");
  return [...checks, { name: "store", ok: opened.ok, text, ...(remedy !== undefined && { remedy }) }];
}
