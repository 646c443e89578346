import type { ConfigProblem, ConfigWarning } from "../domain/config/config-problem.ts";
import type { Config, ConfigOverrides } from "./config.ts";
import type { Env } from "./environment.ts";
import type { Secrets } from "./secrets.ts";

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
