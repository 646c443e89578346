export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * One line per call. `msg` is the sentence for a person, `event` the name for a program, as in `log.info("worker",
 * ...LOG.commandExecuted, { command_index: 0 })`. Never throws: a line that cannot be written is lost. Every string in `fields`,
 * however deep, is masked before it is written. Fields are snake_case.
 */
export interface Logger {
  debug(component: string, msg: string, event: string, fields?: LogFields): void;
  info(component: string, msg: string, event: string, fields?: LogFields): void;
  warn(component: string, msg: string, event: string, fields?: LogFields): void;
  error(component: string, msg: string, event: string, fields?: LogFields): void;
}

export const LOG = {
  patchParse: ["worker.patch_parse", "worker.patch_parse"],
  executionSummary: ["worker.execution_summary", "worker.execution_summary"],
  executionStart: ["worker.patch_execution_start", "worker.execution_started"],
  commandExecuted: ["worker.command_executed", "worker.command_executed"],
  commandFailed: ["worker.command_failed", "worker.command_failed"],
  executionCompleted: ["worker.patch_execution_complete", "worker.execution_completed"],
  executionFailed: ["worker.patch_execution_complete", "worker.execution_failed"],
  executionError: ["worker.patch_execution_error", "worker.execution_failed"],
  protectedSkipped: ["Skipped protected file", "worker.protected_file"],
  protectedModified: ["Modifying protected file", "worker.protected_file"],
  autoCommitSuccess: ["worker.auto_commit_success", "worker.auto_commit"],
  autoCommitFailed: ["worker.auto_commit_failed", "worker.auto_commit"],
} as const satisfies Readonly<Record<string, readonly [msg: string, event: string]>>;

/** Spans for an OpenTelemetry collector: figures and names, no user text. Never throws, rejects or waits: a slow collector loses spans. */
export interface Tracing {
  begin(name: string, start?: SpanStart): Span;
  /** Sends the remaining spans, for a few seconds at most. */
  close(): Promise<void>;
}

export interface SpanStart {
  /** The `traceparent` of the span it belongs to; absent begins a trace. */
  readonly parent?: string | undefined;
  /** The `traceparent` that it has itself, where others know it already. */
  readonly as?: string;
  /** Default: now. */
  readonly at?: Date;
  /** Default: `internal`. */
  readonly kind?: SpanKind;
  readonly facts?: SpanFacts;
}

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** Undefined and null values are left out. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Span {
  /** As W3C Trace Context writes it; stored with work that continues elsewhere. */
  readonly traceparent: string;
  /** Counts once. A span that is never ended is not sent. */
  end(end?: SpanEnd): void;
}

interface SpanEnd {
  /** Default: now. */
  readonly at?: Date;
  readonly facts?: SpanFacts;
  /** A kind of failure, no text of a person. */
  readonly error?: string | undefined;
}

/** Time as an input, so that tests do not wait. */
export interface Timers {
  now(): Date;
  /** Calls back once, not before that many milliseconds; the answer cancels it. Never keeps the process alive alone. */
  after(ms: number, callback: () => void): () => void;
}

/** The largest request body that a server accepts, from webhooks and from all other clients. */
export const LARGEST_BODY_BYTES = 10 * 1024 ** 2;

/** The target of a service's posts, under `/webhooks/<name>`. The sender is unknown until the whole body was read and verified. */
export interface Webhook {
  /** The header that carries the signature: a request without it is refused before its body is read. */
  readonly signedBy: string;
  /** A larger body is refused, at once if its length is declared. */
  readonly limitBytes: number;
  /** Verifies the signature, then acts. The body was read already. */
  readonly answer: (request: Request) => Promise<Response>;
}
