import { z } from "zod";
import { LOCALES } from "../../domain/texts/locale.ts";
import {
  heartbeat,
  line,
  notify,
  retention,
  schedules,
  serve,
  session,
  slack,
  telegram,
} from "./channels.ts";
import { checks, coder, research } from "./coder.ts";
import { commandExecutor } from "./executor.ts";
import { databaseUrl, forges, mcpServers, tasks, tools } from "./integrations.ts";
import { budget, loop, models, ollama, providers, roles, routing, security } from "./models.ts";
import { log, telemetry, worker } from "./worker.ts";

/** The one tree. Importing it costs 30 ms, so the loader does that only when there is something to validate. */
export const configSchema = z.strictObject({
  locale: z.enum(LOCALES).optional().meta({ description: "The language PicoClaw speaks." }),
  ollama,
  models,
  providers,
  roles,
  routing,
  loop,
  coder,
  checks,
  research,
  worker,
  security,
  command_executor: commandExecutor,
  session,
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
