import type { Kysely } from "kysely";
import type { ChatSchedules } from "../application/ports/chat.ts";
import { configuredSchedules } from "../application/serve/timed-rounds.ts";
import { resolveTimeZone } from "../domain/platform/days.ts";
import { createChatSchedules } from "../infrastructure/serve/chat-schedules.ts";
import { liveAddress } from "../infrastructure/serve/live-address.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import type { Services } from "./services.ts";

export function openChatSchedules(
  { config, home }: Pick<Services, "config" | "home">,
  place: { readonly db: Kysely<Database>; readonly workspace: string; readonly now: () => Date },
): ChatSchedules {
  return createChatSchedules({
    ...place,
    timezone: resolveTimeZone(config.session.timezone),
    configured: configuredSchedules(config),
    isServed: () => liveAddress(home) !== null,
  });
}
