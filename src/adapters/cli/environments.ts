import type { Built } from "../../application/environments/build-image.ts";
import type { ContainerInfo } from "../../application/environments/container-info.ts";
import type {
  ExecutionEnvironmentManager,
  FunctionDefinition,
} from "../../application/environments/execution-environment-manager.ts";
import type { NotOpened } from "../../application/ports/opening.ts";
import type { ContainerFacts, SandboxFailure, SandboxManager } from "../../application/ports/sandbox.ts";
import type { Config } from "../../config/config.ts";
import type { ConfigWarning } from "../../domain/texts/config-problem.ts";
import type { EnvironmentMessages } from "../../domain/texts/environments/messages.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import { fail } from "./fail.ts";
import { Stop } from "./flags.ts";
import type { Flags } from "./parse-flags.ts";
import { type CliProgram, EXIT, type ToolEnvelope } from "./program.ts";

/** Environments and their images, as the command line uses them. */
export interface OpenEnvironments {
  readonly manager: ExecutionEnvironmentManager;
  readonly sandboxes: SandboxManager;
  /** What a model learns of environments: its tools, and the fragment of its prompt. */
  modelSide(): Promise<{ readonly tools: readonly FunctionDefinition[]; readonly promptFragment: string }>;
  readonly config: Config;
  readonly messages: Messages;
  readonly texts: EnvironmentMessages;
  readonly warnings: readonly ConfigWarning[];
  /** Containers of this installation with what is remembered of them. */
  list(): Promise<readonly EnvironmentRow[] | SandboxFailure>;
  buildImage(request: ImageRequest): Promise<Built>;
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
  readonly onImage: (name: string, what: "unchanged" | "building") => void;
  readonly onLine: (line: string) => void;
}

export type OpenedEnvironments = { readonly ok: true; readonly environments: OpenEnvironments } | NotOpened;

/** Opens what the common flags mean, or says why it cannot and stops. */
export async function openEnvironments(
  program: CliProgram,
  values: Flags["values"],
): Promise<OpenEnvironments> {
  const opened = await program.openEnvironments({
    cwd: program.cwd,
    ...(typeof values.workspace === "string" && { workspace: values.workspace }),
    ...(typeof values.config === "string" && { configFile: values.config }),
  });
  if (!opened.ok) {
    const { messages, problems, message = "", exitCode } = opened;
    const text =
      problems.length > 0
        ? [messages.configInvalid, ...problems.map(messages.configProblem)].join("\n  ")
        : message;
    throw new Stop(
      fail(program, values.json === true, { exitCode, code: "configuration", text, facts: { problems } }),
    );
  }
  const { environments } = opened;
  const { messages } = environments;
  for (const warning of environments.warnings)
    program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  return environments;
}

/** The first of these ends the work and leaves nothing; a second one ends the program. */
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function abortable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  for (const signal of STOPPING) process.once(signal, stop);
  try {
    return await work(abort.signal);
  } finally {
    for (const signal of STOPPING) process.off(signal, stop);
  }
}

/** A container's failure in the common form: nothing ran. */
export function failedEngine(
  program: CliProgram,
  json: boolean,
  { texts }: OpenEnvironments,
  { code, detail }: SandboxFailure,
): number {
  const remedy = code === "engine-unreachable" ? `\n${texts.remedy("start-docker", "")}` : "";
  return fail(program, json, {
    exitCode: EXIT.refused,
    code,
    text: `${texts.failure("engine", code, detail)}${remedy}`,
  });
}
