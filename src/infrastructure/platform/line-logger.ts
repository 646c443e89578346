import { closeSync, fstatSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { LogFields, Logger, LogLevel } from "../../application/ports/platform.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isSecretField } from "../../domain/platform/secret-name.ts";

const CHECK_EVERY = 64;

/** Several processes may append. One that would pass `limitBytes` renames the file to `.1` (`.1` to `.2`, up to `files`); others notice. */
export function createRotatingFile(options: {
  readonly file: string;
  readonly limitBytes: number;
  readonly files: number;
}) {
  const { file, limitBytes, files } = options;
  let fd: number | undefined;
  let size = 0;
  let lines = 0;

  function open(): number {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const opened = openSync(file, "a", 0o600);
    fd = opened;
    size = fstatSync(opened).size;
    return opened;
  }

  function close(): void {
    const open = fd;
    fd = undefined;
    if (open !== undefined) closeSync(open);
  }

  function rotate(open: number): void {
    const othersDid = movedAway(open);
    close();
    for (let n = files - 2; !othersDid && n >= 0; n -= 1) {
      const from = n === 0 ? file : `${file}.${n}`;
      if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, `${file}.${n + 1}`);
    }
  }

  function movedAway(open: number): boolean {
    return statSync(file, { throwIfNoEntry: false })?.ino !== fstatSync(open).ino;
  }

  return {
    /** Appends one line, at once. Never throws: a line that cannot be written is lost. */
    write(line: string): void {
      try {
        lines += 1;
        if (fd !== undefined && lines % CHECK_EVERY === 0 && movedAway(fd)) close();
        let target = fd ?? open();
        const bytes = Buffer.byteLength(line);
        if (size > 0 && size + bytes > limitBytes) {
          rotate(target);
          target = open();
        }
        writeSync(target, line);
        size += bytes;
      } catch {
        // The job matters more than its log.
      }
    },
    close: (): void => attemptOr(undefined, close),
  };
}

/** Names that every line has; a field so called gets a `_` behind it. */
const RESERVED = new Set(["level", "time", "component", "event", "msg", "pid", "hostname"]);
const DEEPEST = 8;
const LONGEST_TEXT = 64 * 1024;
const KEPT_TAIL = 16 * 1024;

type Mask = (text: string) => string;

/** Fields as plain data: masked, without cycles, errors with their causes, bytes as their number, long texts cut. */
function logFields(fields: LogFields | undefined, mask: Mask): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields ?? {})) {
    const name = RESERVED.has(key) ? `${key}_` : key;
    const plain = plainValue(value, key, { mask, seen: [] });
    if (plain !== undefined) result[name] = plain;
  }
  return result;
}

interface Walk {
  readonly mask: Mask;
  readonly seen: readonly object[];
}

function plainValue(value: unknown, key: string, walk: Walk): unknown {
  switch (typeof value) {
    case "string":
      return value !== "" && isSecretField(key) ? "****" : cutText(walk.mask(value));
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return value.toString();
    case "boolean":
      return value;
    case "object":
      return value === null ? null : plainObject(value, walk);
    default:
      return undefined;
  }
}

function plainObject(value: object, walk: Walk): unknown {
  if (walk.seen.includes(value)) return "[circular]";
  if (walk.seen.length >= DEEPEST) return "[deeper]";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  const below: Walk = { mask: walk.mask, seen: [...walk.seen, value] };
  if (Array.isArray(value)) return value.map((item) => plainValue(item, "", below) ?? null);
  const entries = value instanceof Error ? errorEntries(value) : Object.entries(value);
  const result: Record<string, unknown> = {};
  for (const [key, inner] of entries) {
    const plain = plainValue(inner, key, below);
    if (plain !== undefined) result[key] = plain;
  }
  return result;
}

function errorEntries(error: Error): [string, unknown][] {
  const { name, message, stack, cause } = error;
  return [["type", name], ["message", message], ["stack", stack], ["cause", cause], ...Object.entries(error)];
}

function cutText(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  const head = text.slice(0, LONGEST_TEXT - KEPT_TAIL);
  return `${head}\n… [${text.length - LONGEST_TEXT} characters cut] …\n${text.slice(-KEPT_TAIL)}`;
}

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

/** Lines as pino writes them, without its 30 ms of start (`docs/decisions/011-wire-protocols-by-hand.md`). Opens its file at the first. */
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
