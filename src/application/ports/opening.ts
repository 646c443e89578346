import type { Config } from "../../config/config.ts";
import type { ConfigProblem, ConfigWarning } from "../../domain/config/config-problem.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { Workspace } from "./jobs-workspace.ts";

/** Which workspace is meant, and by which configuration. */
export interface OpenOptions {
  readonly cwd: string;
  /** Default: what the configuration says, else `cwd`. */
  readonly workspace?: string;
  /** Default: the workspace's own file, else the one in `PICOCLAW_HOME`. */
  readonly configFile?: string;
}

/** A workspace with the configuration that holds there, and the words of its language. */
export interface Opened {
  readonly workspace: Workspace;
  readonly config: Config;
  readonly messages: Messages;
  readonly warnings: readonly ConfigWarning[];
}

/** Nothing was opened and nothing ran. */
export interface NotOpened {
  readonly ok: false;
  /** 2: the configuration is not valid. 3: something that it needs is not there. */
  readonly exitCode: 2 | 3;
  readonly messages: Messages;
  readonly problems: readonly ConfigProblem[];
  readonly message?: string;
}

/** A workspace and what was opened on it. */
export type Opening<T = unknown> = (T & Opened & { readonly ok: true }) | NotOpened;
