import type { Config } from "../../config/config.ts";
import type { ConfigWarning } from "../../domain/texts/config-problem.ts";
import type { EnvironmentMessages } from "../../domain/texts/containers.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import type { ImageBuildOutcome } from "../containers/ensure-image.ts";
import type {
  ExecutionEnvironmentManager,
  FunctionDefinition,
} from "../containers/execution-environment-manager.ts";
import type { ContainerFacts, ContainerInfo, SandboxFailure, SandboxManager } from "./containers.ts";
import type { NotOpened } from "./jobs-workspace.ts";
import type { ToolEnvelope } from "./tools.ts";

export interface OpenEnvironments {
  readonly manager: ExecutionEnvironmentManager;
  readonly sandboxes: SandboxManager;
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
  callTool(info: ContainerInfo, tool: string, args: unknown, signal: AbortSignal): Promise<ToolEnvelope>;
  close(): Promise<void>;
}

export interface EnvironmentRow {
  readonly facts: ContainerFacts;
  /** Null where nothing is remembered: another home, or a container of another kind. */
  readonly info: ContainerInfo | null;
  readonly repository: string | null;
}

interface ImageRequest {
  readonly name: string;
  /** A base image, or `debian-rootfs`. */
  readonly from?: string;
  readonly again: boolean;
  readonly signal: AbortSignal;
  readonly onImage: (name: string, what: "unchanged" | "building" | "kept") => void;
  readonly onLine: (line: string) => void;
}

/** Opens environments for one question and loads the Docker client only then. */
export type OpenForQuestion = () => Promise<
  { readonly ok: true; readonly environments: OpenEnvironments } | NotOpened
>;
