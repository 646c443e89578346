import type { LogFields, Logger, LogLevel } from "../../application/ports/logger.ts";
import { LEVELS, type LoggerOptions, openLogFile } from "./log-destination.ts";
import { logFields } from "./log-fields.ts";

/**
 * For commands that end at once: the lines pino would write, without pino's 30 ms of start-up
 * (`docs/decisions/002-log-writer.md`). Nothing is opened before the first line.
 */
export function createLineLogger(options: LoggerOptions): Logger {
  const { mask, now = Date.now } = options;
  const file = openLogFile(options);
  const least = LEVELS[options.level];

  function at(level: LogLevel) {
    return (component: string, msg: string, event: string, fields?: LogFields): void => {
      if (LEVELS[level] < least) return;
      try {
        const head = { level: LEVELS[level], time: now(), component, event };
        file.write(`${JSON.stringify({ ...head, ...logFields(fields, mask), msg: mask(msg) })}\n`);
      } catch {
        // A field that cannot be read loses its line, never the job.
      }
    };
  }

  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
