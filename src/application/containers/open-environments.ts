import type { Config } from "../../config/config.ts";
import type { ConfigWarning } from "../../domain/config/config-problem.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { EnvironmentMessages } from "../../domain/texts/texts.ts";
import type { ContainerFacts, SandboxFailure, SandboxManager } from "../ports/containers.ts";
import type { ToolEnvelope } from "../ports/tools.ts";
import type { ImageBuildOutcome } from "./ensure-image.ts";
import type { ContainerInfo } from "../../domain/containers/container-info.ts";
import type { ExecutionEnvironmentManager } from "./execution-environment-manager.ts";
import type { FunctionDefinition } from "./manager-parts.ts";

/** Environments and their images. */
export interface OpenEnvironments {
  readonly manager: ExecutionEnvironmentManager;
  readonly sandboxes: SandboxManager;
  /** What a model learns of environments: its tools, and the fragment of its prompt. */
  modelSide(): Promise<{
    readonly tools: readonly FunctionDefinition[];
    readonly promptFragment: (environmentName: string) => string;
  }>;
  readonly config: Config;
  readonly messages: Messages;
  readonly texts: EnvironmentMessages;
  readonly warnings: readonly ConfigWarning[];
  /** Containers of this installation with what is remembered of them. */
  list(): Promise<readonly EnvironmentRow[] | SandboxFailure>;
  buildImage(request: ImageRequest): Promise<ImageBuildOutcome>;
  /** Calls a tool of the toolkit on an environment's files. */
  callTool(info: ContainerInfo, tool: string, args: unknown, signal: AbortSignal): Promise<ToolEnvelope>;
  close(): Promise<void>;
}

export interface EnvironmentRow {
  readonly facts: ContainerFacts;
  /** Null where nothing is remembered: another home, or a container of another kind. */
  readonly info: ContainerInfo | null;
  readonly repository: string | null;
}

export interface ImageRequest {
  readonly name: string;
  /** An image to stand on, or `debian-rootfs`. */
  readonly from?: string;
  readonly again: boolean;
  readonly signal: AbortSignal;
  readonly onImage: (name: string, what: "unchanged" | "building" | "kept") => void;
  readonly onLine: (line: string) => void;
}
