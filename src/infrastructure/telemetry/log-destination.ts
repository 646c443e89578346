import { join } from "node:path";
import type { LogLevel } from "../../application/ports/logger.ts";
import type { Mask } from "./log-fields.ts";
import { createRotatingFile, type RotatingFile } from "./rotating-file.ts";

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
export const LEVELS: Readonly<Record<LogLevel | "silent", number>> = {
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  silent: Number.POSITIVE_INFINITY,
};

const TEN_MB = 10_000_000;

export function openLogFile({ home, file, limitBytes = TEN_MB, files = 3 }: LoggerOptions): RotatingFile {
  return createRotatingFile({ file: file ?? join(home, "logs", "picoclaw.log"), limitBytes, files });
}
