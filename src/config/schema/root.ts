import { z } from "zod";
import { LOCALES } from "../../domain/texts/locale.ts";
import { commandExecutor, hooks, log, processes, telemetry, worker } from "./executor.ts";
import {
  databaseUrl,
  forges,
  heartbeat,
  line,
  mcpServers,
  notify,
  retention,
  schedules,
  serve,
  session,
  slack,
  tasks,
  telegram,
  terminal,
  tools,
} from "./integrations.ts";
import {
  budget,
  checks,
  coder,
  head,
  loop,
  models,
  ollama,
  providers,
  research,
  roles,
  routing,
  security,
} from "./models.ts";

/** The one tree. Importing it costs 30 ms, so the loader does that only when there is something to validate. */
export const configSchema = z.strictObject({
  locale: z.enum(LOCALES).optional().meta({ description: "Language of PicoClaw's own texts." }),
  ollama,
  models,
  providers,
  roles,
  routing,
  loop,
  coder,
  head,
  checks,
  research,
  worker,
  hooks,
  processes,
  security,
  command_executor: commandExecutor,
  session,
  terminal,
  line,
  slack,
  telegram,
  forges,
  mcp_servers: mcpServers,
  budget,
  serve,
  retention,
  schedules,
  heartbeat,
  notify,
  tools,
  tasks,
  log,
  telemetry,
  database_url: databaseUrl,
});

/** The content of `schema.json`. */
export function generateJsonSchema(): object {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}
