import { z } from "zod";
import { LOCALES } from "../../domain/texts/locale.ts";
import * as executor from "./executor.ts";
import * as integrations from "./integrations.ts";
import * as models from "./models.ts";

/** The one tree. Importing it costs 30 ms, so the loader does that only when there is something to validate. */
export const configSchema = z.strictObject({
  locale: z.enum(LOCALES).optional().meta({ description: "Language of PicoClaw's own texts." }),
  ollama: models.ollama,
  models: models.models,
  providers: models.providers,
  roles: models.roles,
  routing: models.routing,
  loop: models.loop,
  coder: models.coder,
  head: models.head,
  checks: models.checks,
  research: models.research,
  worker: executor.worker,
  hooks: executor.hooks,
  processes: executor.processes,
  security: models.security,
  command_executor: executor.commandExecutor,
  session: integrations.session,
  terminal: integrations.terminal,
  line: integrations.line,
  slack: integrations.slack,
  telegram: integrations.telegram,
  forges: integrations.forges,
  mcp_servers: integrations.mcpServers,
  budget: models.budget,
  serve: integrations.serve,
  retention: integrations.retention,
  schedules: integrations.schedules,
  heartbeat: integrations.heartbeat,
  notify: integrations.notify,
  tools: integrations.tools,
  tasks: integrations.tasks,
  log: executor.log,
  telemetry: executor.telemetry,
  database_url: integrations.databaseUrl,
});

export function generateJsonSchema(): object {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}
