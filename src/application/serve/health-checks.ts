import type { ModelFailureCode } from "../../domain/models/model-trouble.ts";
import type { Channel } from "../ports/channel.ts";
import type { ModelRole, Models } from "../ports/models.ts";
import type { HealthCheck } from "./inbox-health.ts";

const ROLES: readonly ModelRole[] = ["chat", "worker", "coder1", "coder2", "coder3"];

export interface HealthChecksDeps {
  /** Rejects when the store takes no writes. */
  readonly askStore: () => Promise<unknown>;
  /** A file of the program that is gone since the start, or null. */
  readonly findGonePiece: () => string | null;
  readonly models: Models;
  /** Who answers the route CODE; the other coders need not be set up. */
  readonly defaultCoder: ModelRole;
  /** Null where environments are off; rejects when Docker does not answer. */
  readonly pingDocker: ((signal: AbortSignal) => Promise<string>) | null;
  readonly channels: Iterable<Channel>;
}

/** The parts that `/readyz` asks. The store and the program itself are needed to take a message; the others are for information. */
export function healthChecks(parts: HealthChecksDeps): HealthCheck[] {
  const { askStore, findGonePiece, models, pingDocker, channels, defaultCoder } = parts;
  return [
    {
      name: "store",
      required: true,
      check: async () => {
        await askStore();
        return { ok: true, detail: "answers" };
      },
    },
    {
      name: "program",
      required: true,
      check: async () => {
        const gone = findGonePiece();
        if (gone === null) return { ok: true, detail: "whole" };
        return {
          ok: false,
          detail: `PicoClaw was replaced or moved while it ran: ${gone} is gone`,
          remedy: "restart PicoClaw",
        };
      },
    },
    ...ROLES.map((role) => modelCheck(models, role, role.startsWith("coder") && role !== defaultCoder)),
    {
      name: "docker",
      required: false,
      check: async (signal) => ({
        ok: true,
        detail: pingDocker === null ? "command_executor.enabled: false" : await pingDocker(signal),
      }),
    },
    ...[...channels].map(
      (channel): HealthCheck => ({
        name: `channel ${channel.name}`,
        required: false,
        check: (signal) => channel.check(signal),
      }),
    ),
  ];
}

const NOT_SET_UP: ReadonlySet<ModelFailureCode> = new Set(["no-key", "not-configured"]);

function modelCheck(models: Models, role: ModelRole, isOptional: boolean): HealthCheck {
  const off = (code: ModelFailureCode) => (isOptional && NOT_SET_UP.has(code) ? { off: true } : {});
  return {
    name: `model ${role}`,
    required: false,
    async check(signal) {
      await models.look?.(signal);
      const model = models.forRole(role);
      if (!("generate" in model)) return { ok: false, detail: model.message, ...off(model.code) };
      const checked = await model.check(signal);
      const named = `${model.provider}/${model.model}`;
      if (checked.ok) return { ok: true, detail: `${named}: ${checked.detail}` };
      const remedy = checked.remedy === undefined ? {} : { remedy: checked.remedy };
      return {
        ok: false,
        detail: `${named}: ${checked.failure.message}`,
        ...remedy,
        ...off(checked.failure.code),
      };
    },
  };
}
