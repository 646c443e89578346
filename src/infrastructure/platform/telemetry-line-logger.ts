import { join } from "node:path";
import type { LogFields, Logger, LogLevel } from "../../application/ports/logger.ts";
import { logFields, type Mask } from "./log-fields.ts";
import { createRotatingFile } from "./line-logger.ts";

export interface LoggerOptions {
  /** PICOCLAW_HOME; the lines go to `logs/picoclaw.log` in it. */
  readonly home: string;
  /** Another file than that. */
  readonly file?: string | null;
  readonly level: LogLevel | "silent";
  readonly mask: Mask;
  readonly now?: () => number;
  /** Default 10 MB, three files in all. */
  readonly limitBytes?: number;
  readonly files?: number;
}

/** pino's numbers. */
const LEVELS: Readonly<Record<LogLevel | "silent", number>> = {
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  silent: Number.POSITIVE_INFINITY,
};

const TEN_MB = 10_000_000;

/** Lines as pino writes them, without its 30 ms of start (`docs/decisions/002-log-writer.md`). Opens nothing before the first. */
export function createLineLogger(options: LoggerOptions): Logger {
  const { home, mask, now = Date.now, limitBytes = TEN_MB, files = 3 } = options;
  const file = createRotatingFile({
    file: options.file ?? join(home, "logs", "picoclaw.log"),
    limitBytes,
    files,
  });
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
