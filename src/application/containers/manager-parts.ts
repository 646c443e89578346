import type { PrepareFailure } from "../../domain/containers/prepare-event.ts";
import type { AddressesOf } from "../../domain/containers/refused-hosts.ts";
import type { Credential, RepositorySource } from "../../domain/containers/clone-plan.ts";
import type { EnvironmentRecords } from "../ports/environment-records.ts";
import type { SandboxManager } from "../ports/containers.ts";
import type { ContainerInfo } from "../../domain/containers/container-info.ts";
import type { ImageChoice } from "./environments-ensure-image.ts";
import type { PreparedEnvironment, PrepareRequest } from "./prepare-request.ts";

/** The public shape of a text editor's answer. */
export interface TextEditorResult {
  readonly success: boolean;
  readonly content: string;
  readonly error: string;
}

/** How a tool is described to a model. */
export interface FunctionDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

export interface ManagerConfig {
  readonly enabled: boolean;
  readonly textEditorEnabled: boolean;
  readonly shallow: boolean;
  readonly depth: number;
  readonly timeoutSeconds: number;
  readonly maxOutputBytes: number;
  readonly staleThresholdHours: number;
  /** What the network's rules let through; null without a network. */
  readonly reachable: readonly string[] | null;
}

export type Prepare = (request: PrepareRequest) => Promise<PreparedEnvironment | PrepareFailure>;

export interface EnvironmentManagerDeps {
  readonly config: ManagerConfig;
  /** The part of the configuration that is asked for without preparing anything. */
  readonly environments: Readonly<Record<string, ImageChoice>>;
  readonly defaultEnvironment: string;
  /** Loaded when something is prepared: running a command needs none of it. */
  readonly openPreparation: () => Promise<Prepare>;
  readonly addressesOf: AddressesOf;
  readonly sandboxes: SandboxManager;
  readonly records: EnvironmentRecords;
  readonly credentialFor: (source: RepositorySource) => Credential | null;
  /** Null where the command may run in that environment, else why it may not. Loaded when first asked. */
  readonly refuse: (command: string, environmentName: string) => Promise<string | null>;
  readonly allowedCommands: () => Readonly<Record<string, readonly string[]>>;
  readonly allowedCommandsText: () => string;
  readonly definitions: () => Promise<{
    readonly execute: FunctionDefinition;
    readonly editor: FunctionDefinition;
  }>;
  /** Calls a tool of the toolkit on a container's files. */
  readonly callTool: (
    info: ContainerInfo,
    tool: string,
    args: unknown,
    options: { readonly signal?: AbortSignal },
  ) => Promise<TextEditorResult>;
  /** Hangs up on a task's files. */
  readonly closeTools: (taskUuid: string) => void;
  readonly explain: (failure: PrepareFailure) => string;
  readonly pid: number;
  readonly birth: string;
  /** Whether a process still runs; where nobody can tell, it does. */
  readonly isAlive: (process: { readonly pid: number; readonly birth?: string }) => boolean;
}
