import { hostname } from "node:os";
import type { Tracing } from "../application/ports/platform.ts";
import { createMessageTracer, type MessageTracer } from "../application/serve/message-tracer.ts";
import { createLineLogger } from "../infrastructure/platform/line-logger.ts";
import { createOtlpTracing } from "../infrastructure/platform/otlp-tracing.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { VERSION } from "../version.ts";
import type { Services } from "./services.ts";

export interface Telemetry {
  readonly tracing: Tracing;
  readonly tracer: MessageTracer;
}

/** Loaded only where a collector is configured. Its troubles are only logged. */
export function openTelemetry({ config, secrets, home, mask }: Services, endpoint: string): Telemetry {
  const log = createLineLogger({ ...config.log, home, mask });
  const tracing = createOtlpTracing({
    endpoint,
    headers: secrets.resolve(config.telemetry.otlp_headers) ?? "",
    resource: {
      "service.name": config.telemetry.service_name,
      "service.version": VERSION,
      "service.instance.id": crypto.randomUUID(),
      "host.name": hostname(),
      "process.pid": process.pid,
    },
    mask,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    timers,
    fetch: (url, init) => fetch(url, init),
    onTrouble: (error) =>
      log.warn("telemetry", "Traces not sent", "telemetry.not_sent", { error: String(error) }),
  });
  return { tracing, tracer: createMessageTracer(tracing, timers.now) };
}
