import type { LogFields, Logger, LogLevel } from "../../application/ports/logger.ts";
import { type LoggerOptions, openLogFile } from "./log-destination.ts";
import { logFields } from "./log-fields.ts";

/** For programs that stay (`serve`, `worker`, `mcp`). The same lines as `createLineLogger`, by the same contract. */
export async function createPinoLogger(options: LoggerOptions): Promise<Logger> {
  const { pino } = await import("pino");
  const { mask, now = Date.now } = options;
  const file = openLogFile(options);
  const logger = pino(
    { level: options.level, base: null, timestamp: () => `,"time":${now()}` },
    { write: (line: string) => file.write(line) },
  );

  function at(level: LogLevel) {
    return (component: string, msg: string, event: string, fields?: LogFields): void => {
      if (!logger.isLevelEnabled(level)) return;
      try {
        logger[level]({ component, event, ...logFields(fields, mask) }, mask(msg));
      } catch {
        // A field that cannot be read loses its line, never the job.
      }
    };
  }

  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
