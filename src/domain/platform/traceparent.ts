/** Which span of which trace something belongs to, as W3C Trace Context has it. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  /** The originator of the trace wants it to be kept. */
  readonly sampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Null for an invalid text, which is treated as if none had been sent. */
export function readTraceparent(text: string | null | undefined): TraceContext | null {
  const [, version, traceId = "", spanId = "", flags = "", more] = FORM.exec(text?.trim() ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** A task's id is a UUID, as long as a trace's: every machine that works on it adds to the same trace. */
export function traceparentOfTask(taskId: string): string | null {
  const digits = taskId.replaceAll("-", "").toLowerCase();
  const traceparent = `00-${digits}-${digits.slice(16)}-01`;
  return readTraceparent(traceparent) === null ? null : traceparent;
}
