import { looksLikeSecretName } from "../domain/platform/secret-name.ts";
import type { Config } from "./config.ts";
import type { Env } from "./environment.ts";
import { leavesOf } from "./tree.ts";

/** The configuration holds references only; here they become values, at the moment of use. */
export interface Secrets {
  /** `env:NAME` → what the variable says, undefined when it is unset; any other text is itself. */
  resolve(value: string | null | undefined): string | undefined;
  /** Every secret that this process knows, for the masker. */
  values(): string[];
}

/** A variable that looks like a secret but holds a path (SSH_AUTH_SOCK) or a word is not worth masking. */
const SHORTEST_VALUE = 8;

export function createSecrets(env: Env, config: Config): Secrets {
  const read = (reference: string) => env[reference.slice("env:".length)] || undefined;
  return {
    resolve: (value) => {
      if (value === null || value === undefined) return undefined;
      return value.startsWith("env:") ? read(value) : value;
    },
    values: () => {
      const referred = leavesOf(config).flatMap(({ value }) =>
        typeof value === "string" && value.startsWith("env:") ? [read(value) ?? ""] : [],
      );
      const named = Object.entries(env).flatMap(([name, value]) =>
        looksLikeSecretName(name) && value !== undefined && !value.startsWith("/") ? [value] : [],
      );
      return [...new Set([...referred, ...named])].filter((value) => value.length >= SHORTEST_VALUE);
    },
  };
}
