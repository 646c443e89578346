import type { SandboxManager } from "../ports/containers.ts";
import type { LogFields, Logger, LogLevel } from "../ports/platform.ts";
import type { Prepare } from "./execution-environment-manager.ts";

/** The actions of containers since this process began, by their metric names. */
export type EnvironmentCounts = Readonly<Record<string, number>>;

export type EnvironmentObserver = ReturnType<typeof createEnvironmentObserver>;

const NAMES = [
  "picoclaw_containers_started_total",
  "picoclaw_container_start_failures_total",
  "picoclaw_containers_removed_total",
  "picoclaw_container_leftovers_total",
  "picoclaw_environments_prepared_total",
  "picoclaw_environment_failures_total",
  "picoclaw_clone_failures_total",
  "picoclaw_container_commands_total",
  "picoclaw_container_command_timeouts_total",
  "picoclaw_container_command_limits_total",
  "picoclaw_container_command_seconds_total",
] as const;
type Name = (typeof NAMES)[number];

/** Codes of a preparation that are the clone's. */
const CLONE = /^(?:clone-|repository-|ref-missing|not-a-repository|host-unreachable|credential-kept)/;

/** Writes one line into the log for each container, clone and command, and counts them. Changes nothing. */
export function createEnvironmentObserver(log: Logger) {
  const counts = new Map<Name, number>(NAMES.map((name) => [name, 0]));
  const note = (level: LogLevel, what: string, fields: LogFields) =>
    log[level]("environments", `environments.${what}`, `environments.${what}`, fields);
  const add = (name: Name, by = 1) => counts.set(name, (counts.get(name) ?? 0) + by);
  return {
    counts: (): EnvironmentCounts => Object.fromEntries(counts),
    sandboxes: (sandboxes: SandboxManager): SandboxManager => ({
      ...sandboxes,
      async startContainer(spec, options) {
        const started = await sandboxes.startContainer(spec, options);
        const { name, image } = spec;
        if (started.ok) {
          add("picoclaw_containers_started_total");
          note("info", "container_started", { name, image, from: started.from });
        } else {
          add("picoclaw_container_start_failures_total");
          note("error", "container_failed", { name, image, code: started.code, detail: started.detail });
        }
        return started;
      },
      async exec(container, request) {
        const result = await sandboxes.exec(container, request);
        const { outcome, exitCode, durationMs, limit } = result;
        add("picoclaw_container_commands_total");
        add("picoclaw_container_command_seconds_total", durationMs / 1000);
        if (outcome === "timed-out") add("picoclaw_container_command_timeouts_total");
        if (limit !== undefined) add("picoclaw_container_command_limits_total");
        note(outcome === "timed-out" || limit !== undefined ? "warn" : "info", "command", {
          container: container.slice(0, 64),
          outcome,
          exit_code: exitCode,
          duration_ms: durationMs,
          ...(limit !== undefined && { limit: limit.kind }),
        });
        return result;
      },
      async stopContainer(container, options) {
        const removal = await sandboxes.stopContainer(container, options);
        if (removal.removed) add("picoclaw_containers_removed_total");
        add("picoclaw_container_leftovers_total", removal.leftovers.length);
        note(removal.leftovers.length > 0 ? "warn" : "info", "container_removed", {
          container,
          removed: removal.removed,
          leftovers: removal.leftovers.map(({ kind, name, reason }) => `${kind} ${name}: ${reason}`),
        });
        return removal;
      },
    }),
    prepare:
      (prepare: Prepare): Prepare =>
      async (request) => {
        const since = performance.now();
        const prepared = await prepare(request);
        const fields = { task_id: request.taskUuid, duration_ms: Math.round(performance.now() - since) };
        if (prepared.ok) {
          add("picoclaw_environments_prepared_total");
          const { image, installed } = prepared;
          const failed = installed.filter(({ success }) => !success).map(({ command }) => command);
          note("info", "prepared", { ...fields, image, install_failed: failed });
          return prepared;
        }
        const { code, subject, detail } = prepared;
        add("picoclaw_environment_failures_total");
        if (CLONE.test(code)) add("picoclaw_clone_failures_total");
        note("error", "prepare_failed", { ...fields, code, subject, detail });
        return prepared;
      },
  };
}
