import type { z } from "zod";
import type { ConfigProblem, ConfigWarning } from "../domain/config/config-problem.ts";
import { looksLikeSecretName } from "../domain/platform/secret-name.ts";
import defaults from "./defaults.json" with { type: "json" };
import type { Env } from "./environment.ts";
import type { configSchema } from "./schema/root.ts";
import { leavesOf } from "./tree.ts";

/** The effective configuration; keys are spelled as in the file. */
export type Config = z.infer<typeof configSchema>;

/** What flags and tests set on top, already typed. */
export type ConfigOverrides = DeepPartial<Config>;

type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

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

/** Where a key's value came from. Keys without an entry have their default. */
export type KeySource =
  | { readonly kind: "file"; readonly file: string; readonly line?: number }
  | { readonly kind: "environment"; readonly variable: string }
  | { readonly kind: "flag" };

export interface LoadInput {
  /** Default: this process's environment. */
  readonly env?: Env;
  /** The folder that `--workspace` names; without it `worker.workspace`, else `cwd`. */
  readonly workspace?: string | undefined;
  readonly cwd?: string;
  /** `--config FILE`: read instead of the home's and the workspace's file, and trusted, because it was named. */
  readonly configFile?: string | undefined;
  readonly flags?: ConfigOverrides;
  /** What a file is going to hold: whether that would be accepted. */
  readonly instead?: { readonly file: string; readonly text: string };
  /** Default: `PICOCLAW_HOME`, else `~/.picoclaw`. */
  readonly home?: string;
}

export interface LoadedConfig {
  readonly ok: true;
  readonly config: Config;
  readonly sources: Readonly<Record<string, KeySource>>;
  readonly warnings: readonly ConfigWarning[];
  /** Absolute; not checked to exist. */
  readonly workspace: string;
  readonly home: string;
  readonly files: readonly string[];
  readonly secrets: Secrets;
}

export interface RefusedConfig {
  readonly ok: false;
  readonly errors: readonly ConfigProblem[];
}

/** What stands where a file may be. */
export type ConfigFile =
  | { readonly kind: "file"; readonly file: string; readonly bytes: Uint8Array }
  | { readonly kind: "missing"; readonly file: string }
  | { readonly kind: "unreadable"; readonly file: string; readonly problem: ConfigProblem };

export type LoadResult = LoadedConfig | RefusedConfig;
export type { ConfigProblem, ConfigWarning };

/**
 * What the schema yields for an empty file, written down by `scripts/gen-config-docs.ts`: a run without a file or a
 * variable needs neither zod nor yaml (30 ms each).
 */
export const DEFAULTS: Config = defaults as Config;
