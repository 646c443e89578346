import type { CloneRange } from "../../domain/containers/clone-plan.ts";
import type { PrepareFailure, SANDBOX_FAILURES } from "../../domain/containers/preparation.ts";
import type { OutputStream, ProcessRequest, ProcessResult } from "./platform-processes.ts";

/** Containers as tasks need them. Expected failures are values, not rejections. An aborted `startContainer` leaves nothing behind. */
export interface SandboxManager {
  /** The engine that answers, and the limits it can enforce. Asked once, then remembered. */
  describe(signal?: AbortSignal): Promise<SandboxFacts | SandboxFailure>;
  /**
   * Starts a container of `spec.image`, which must be present, or hands out a warm one. One of the same name, if this installation's,
   * is removed first, with its volumes. The first start of a process, and an interval from then on, clean up as
   * `cleanupStaleContainers` does.
   */
  startContainer(spec: ContainerSpec, options?: StartOptions): Promise<StartedContainer | SandboxFailure>;
  /** Runs one command as the container's user; many may run at once. It ends with its own exit: its background processes keep running. */
  exec(container: string, request: ExecRequest): Promise<ExecResult>;
  /** The processes that commands left running. */
  listProcesses(container: string): Promise<readonly BackgroundProcess[] | SandboxFailure>;
  /** Ends a background process with all its descendants. False if there is no such process. */
  endProcess(container: string, pid: number): Promise<boolean | SandboxFailure>;
  /** Forwards a port of the container's loopback to a Unix socket of this machine, for any process inside, until closed. No network. */
  forward(
    container: string,
    options: { readonly socket: string; readonly signal: AbortSignal },
  ): Promise<Forward | SandboxFailure>;
  /** Pauses the container with every process in it; nothing runs until it is resumed. False if the engine cannot. Both are idempotent. */
  freeze(container: string): Promise<boolean>;
  thaw(container: string): Promise<void>;
  /** Stops (TERM, the configured grace, KILL) and removes the container with its volumes, three tries each. Idempotent. */
  stopContainer(container: string, options?: StopOptions): Promise<Removal>;
  /** Containers of this installation in any state; warm ones not included. */
  listContainers(signal?: AbortSignal): Promise<readonly ContainerFacts[] | SandboxFailure>;
  /** The current usage of a running container; measuring its disk takes time in proportion to its files. */
  usage(container: string, signal?: AbortSignal): Promise<ContainerUsage | SandboxFailure>;
  findContainer(nameOrId: string, signal?: AbortSignal): Promise<ContainerFacts | SandboxFailure | undefined>;
  /** Removes the containers of dead owners and ended tasks: only this installation's, never a live task's. */
  cleanupStaleContainers(options: StaleRule): Promise<StaleCleanup | SandboxFailure>;
  /** Closes every connection and removes unclaimed warm containers. Containers of tasks stay. */
  close(): Promise<void>;
}

/** One task's container. The names of the fields are public. */
export interface ContainerInfo {
  readonly container_id: string;
  readonly task_uuid: string;
  readonly environment_name: string;
  /** `/workspace/project` */
  readonly workspace_path: string;
  /** ISO 8601, UTC. */
  readonly created_at: string;
  readonly status: "created" | "ready" | "stopped";
}

export interface ContainerSpec {
  /** `coding-agent-exec-<uuid>`, `agent-runner-<task id>`: unique on the engine. */
  readonly name: string;
  readonly taskId: string;
  readonly image: string;
  /** Free words of the owner (environment name …), kept as labels under `picoclaw.`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Default 10001:10001. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Commands run here unless they say otherwise. Default `/workspace/project`. */
  readonly workingDirectory?: string;
  /** Commands may not start outside these folders. Default `/workspace`. */
  readonly roots?: readonly string[];
  /** Visible to every user who may inspect the container: never a secret. Secrets belong in `ExecRequest.env`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits: ContainerLimits;
  readonly network: ContainerNetwork;
  /** Beyond the container's own volume on `/workspace` with `project` and `tmp`. */
  readonly mounts?: readonly ContainerMount[];
  /** Must be allowed by the configuration, which is checked again here. */
  readonly mountDockerSocket?: boolean;
  /** `process` (default): the next start may remove it once this process is gone. `detached`: it stays until it is stopped or stale. */
  readonly lease?: "process" | "detached";
  /** The claim of its task for which it is created. It never replaces a container of a later claim. */
  readonly claim?: ContainerClaim | undefined;
}

/** Names a claim of a piece of work; a later claim of it has a higher fence. */
export interface ContainerClaim {
  readonly id: string;
  readonly fence: number;
}

export interface ContainerLimits {
  readonly cpus: number;
  /** Memory and swap together. */
  readonly memoryBytes: number;
  readonly pids: number;
  readonly diskBytes: number;
}

/**
 * The container has only its loopback in every mode. Permitted traffic leaves through a proxy that resolves names and connects itself,
 * and refuses the host's, private and metadata addresses but for the exact `host:port` entries.
 */
export type ContainerNetwork =
  | { readonly mode: "none" }
  | { readonly mode: "open"; readonly allowedHosts: readonly string[] }
  | {
      readonly mode: "allow-list";
      readonly allowedDomains: readonly string[];
      readonly allowedHosts: readonly string[];
    };

export type ContainerMount =
  | { readonly kind: "bind"; readonly source: string; readonly target: string; readonly readOnly: boolean }
  /** A named volume, made when missing. Not removed with the container. */
  | { readonly kind: "volume"; readonly name: string; readonly target: string; readonly readOnly: boolean }
  /** An overlay over a folder of the engine's host: writes go to `upper`. The volume is removed with the container. */
  | {
      readonly kind: "overlay";
      readonly lower: readonly string[];
      readonly upper: string;
      readonly work: string;
      readonly target: string;
    };

export interface StartOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: StartProgress) => void;
}

type StartProgress =
  | { readonly step: "removing-existing"; readonly name: string }
  | { readonly step: "claimed-warm"; readonly name: string }
  | { readonly step: "network"; readonly image: string }
  | { readonly step: "creating"; readonly name: string; readonly image: string }
  | { readonly step: "starting"; readonly name: string };

export interface StartedContainer extends Pick<ContainerFacts, "ok" | "id" | "name" | "createdAt"> {
  readonly from: "cold" | "warm";
}

export interface ExecRequest
  extends Pick<
    ProcessRequest,
    "timeoutMs" | "graceMs" | "signal" | "outputLimitBytes" | "cutNote" | "onOutput"
  > {
  /** For `sh -c`, or a program with its arguments. */
  readonly command: string | readonly [string, ...string[]];
  /** Absolute, or relative to the container's working directory. */
  readonly cwd?: string;
  /** Added to the container's. Sent over the connection, so no record of the engine holds it. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Default: empty, so that a reader ends instead of hanging. */
  readonly stdin?: string | Uint8Array | undefined;
  /** The same as bytes, for output that is not text. */
  readonly onBytes?: ((stream: OutputStream, bytes: Uint8Array) => void) | undefined;
  /** Commands of one session share working directory and exported variables, one after the other. */
  readonly session?: string | undefined;
}

/** `disconnected`: the connection or the container was lost before the exit code arrived. It and `not-started` have a `failure`. */
export type ExecOutcome = "exited" | "signaled" | "timed-out" | "aborted" | "disconnected" | "not-started";

/** A process's result, where it ran in a container: `exitCode` as a shell says it (128 + signal). */
export interface ExecResult extends Omit<ProcessResult, "outcome" | "output" | "error"> {
  readonly outcome: ExecOutcome;
  /** The limit of the container that the command reached, according to the kernel's counters. */
  readonly limit?: ExceededLimit;
  /** The processes that this command left running. */
  readonly background: readonly BackgroundProcess[];
  readonly failure?: SandboxFailure;
}

export type ExceededLimit =
  | { readonly kind: "memory"; readonly limitBytes: number }
  | { readonly kind: "disk"; readonly limitBytes: number }
  | { readonly kind: "processes"; readonly limit: number };

export interface BackgroundProcess {
  readonly pid: number;
  readonly command: string;
}

export interface Forward {
  readonly ok: true;
  /** Inside. */
  readonly port: number;
  close(): void;
}

interface StopOptions {
  readonly signal?: AbortSignal | undefined;
  /** Sends KILL at once. */
  readonly force?: boolean;
  /** Removes only a container of this claim: the same name may belong to a successor. */
  readonly claim?: ContainerClaim | undefined;
}

/** `leftovers`: parts that could not be removed, recorded for the next clean-up. */
export interface Removal {
  readonly removed: boolean;
  readonly leftovers: readonly Leftover[];
}

export interface Leftover {
  readonly kind: "container" | "volume" | "network";
  readonly name: string;
  readonly reason: string;
}

export interface ContainerFacts extends Pick<EnvironmentSummary, "id" | "name" | "image" | "createdAt"> {
  readonly ok: true;
  readonly taskId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "created" | "running" | "paused" | "stopped";
}

export interface ContainerUsage {
  readonly ok: true;
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  /** Of processors, since it started. */
  readonly cpuSeconds: number;
  readonly processes: number;
  readonly processLimit: number;
  readonly diskBytes: number;
  readonly diskLimitBytes: number;
}

export interface StaleRule {
  readonly thresholdMs: number;
  readonly signal?: AbortSignal;
  /** Tasks known to be live, regardless of the state of their containers. */
  readonly liveTasks?: ReadonlySet<string>;
  /** Whether outdated images go as well. Default: no. */
  readonly images?: boolean;
}

export interface StaleCleanup {
  readonly ok: true;
  readonly containers: readonly string[];
  readonly volumes: readonly string[];
  /** Made over others that are not the same any more. */
  readonly images: readonly string[];
  readonly leftovers: readonly Leftover[];
}

export interface SandboxFacts {
  readonly ok: true;
  readonly engineVersion: string;
  readonly apiVersion: string;
  readonly host: string;
  readonly cgroup: 1 | 2;
  readonly storageDriver: string;
  readonly backingFilesystem: string;
  /** `quota`: the engine refuses writes beyond. `watchdog`: commands are ended once the size was found too large. */
  readonly disk: "quota" | "watchdog";
  readonly rootless: boolean;
  readonly seccomp: boolean;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Limits that this engine reports as unsupported. */
  readonly missing: readonly ("memory" | "swap" | "cpu" | "pids")[];
}

/** `actor`: who can do something about it. `detail` is the engine's own word, without secrets. */
export interface SandboxFailure {
  readonly ok: false;
  readonly code: keyof typeof SANDBOX_FAILURES;
  readonly actor: "model" | "user" | "operator";
  readonly retryable: boolean;
  readonly detail: string;
  readonly cause?: unknown;
}

/** The engine does not answer, so nothing is known about images: every operation rejects with this. */
export class EngineUnavailable extends Error {
  constructor(readonly failure: SandboxFailure) {
    super(failure.detail);
    this.name = "EngineUnavailable";
  }
}

/** No environment is ready. Carries the failure where preparing it failed. */
export class EnvironmentError extends Error {
  constructor(
    message: string,
    readonly failure?: PrepareFailure,
  ) {
    super(message);
    this.name = "EnvironmentError";
  }
}

/** The engine's images. Failures are values, but for an engine that cannot be asked (`EngineUnavailable`). */
export interface Images {
  /** Null if there is no image of that name. */
  inspect(name: string, signal?: AbortSignal): Promise<ImageFacts | null>;
  /** Fetches an image from its registry. After an abort the fetched layers stay with the engine. */
  pull(name: string, options: ImageProgress): Promise<ImageOutcome>;
  /** Builds an image from a folder of files. Aborting ends the build. */
  build(request: ImageBuild): Promise<ImageOutcome>;
  tag(name: string, further: string): Promise<void>;
  /** Makes an image of one layer of a file system's archive. */
  importArchive(
    name: string,
    archive: AsyncIterable<Uint8Array>,
    options: ImportOptions,
  ): Promise<ImageOutcome>;
}

export interface ImageFacts {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ImageProgress {
  readonly signal?: AbortSignal | undefined;
  /** One line of progress; must not throw. */
  readonly onLine?: ((line: string) => void) | undefined;
}

interface ImportOptions extends ImageProgress {
  readonly labels: Readonly<Record<string, string>>;
}

export interface ImageBuild extends ImageProgress {
  readonly name: string;
  readonly files: readonly ContextFile[];
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ContextFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly executable: boolean;
}

export type ImageOutcome =
  | { readonly ok: true }
  /** `not-found` covers a private image: registries do not tell them apart. */
  | {
      readonly ok: false;
      readonly reason: "not-found" | "unreachable" | "failed" | "aborted";
      readonly message: string;
    };

export interface Recipes {
  /** The files of a recipe's folder, or of a project's own; null if there is no such folder. */
  filesOf(folder: string): readonly ContextFile[] | null;
  /** Certificates of authorities that the building machine trusts beyond the usual ones. */
  certificates(): readonly ContextFile[];
  /** The files of a folder with a Dockerfile of a project; a text says why it cannot be used. */
  project(dockerfile: string): readonly ContextFile[] | string;
}

/** Repositories on this machine. They are read by git as the user who runs PicoClaw. */
export interface LocalRepositories {
  look(path: string, ref: string | undefined, signal?: AbortSignal): Promise<LocalRepository | LocalFailure>;
  /** A repository without a work tree (`.git`), cloned with the given range, as an archive; uncommitted changes are not in it. */
  pack(path: string, range: CloneRange, signal: AbortSignal): Promise<LocalPack | LocalFailure>;
}

export interface LocalRepository {
  readonly ok: true;
  /** All paths of the commit that will be checked out. */
  readonly files: readonly string[];
  readonly uncommitted: number;
}

export interface LocalPack {
  readonly ok: true;
  /** The branch or commit to check out. */
  readonly head: string;
  /** A tar archive with `.git` at its top; read once. */
  readonly archive: AsyncIterable<Uint8Array>;
  /** Removes what was made on this machine. Idempotent. */
  remove(): void;
}

export interface LocalFailure {
  readonly ok: false;
  readonly code: "missing" | "not-a-repository" | "empty" | "ref-missing" | "no-git" | "failed" | "aborted";
  readonly message: string;
}

/** Packages that were fetched before, on this machine and inaccessible to containers. */
export interface DownloadStore {
  has(key: string): boolean;
  /** Read once, piece by piece; counts as a use. */
  read(key: string): AsyncIterable<Uint8Array>;
  /** Nothing is there under the key until it is kept. */
  create(key: string): NewDownload;
}

interface NewDownload {
  write(bytes: Uint8Array): void;
  /** Makes it visible at once, and drops the oldest of the others past the limit. */
  keep(): void;
  /** Forgets it. Idempotent, and nothing after `keep`. */
  drop(): void;
}

/** Facts that labels cannot state: when an environment became ready, and who was preparing it. Losing these files loses no container. */
export interface EnvironmentRecords {
  read(taskUuid: string): EnvironmentRecord | null;
  save(record: EnvironmentRecord): void;
  remove(taskUuid: string): void;
  list(): readonly EnvironmentRecord[];
  /** A folder for the other data of the task: its jobs and their journal. Created on demand. */
  folder(taskUuid: string): string;
}

export interface EnvironmentRecord {
  readonly info: ContainerInfo;
  readonly image: string;
  /** The project's origin, without credentials. */
  readonly repository: string;
  /** The process that prepares it, while it does. */
  readonly preparing?: { readonly pid: number; readonly birth?: string };
}

/** A clone of a task, as its dependencies were installed. */
export interface ClonePoint {
  readonly base: string;
  /** The tree of everything that git does not ignore, right after the installation. */
  readonly start: string;
  /** A path beside the project for an index of our own. */
  readonly index: string;
  /** Runs a script of ours in the project's folder: all bytes that it prints, or a text that says why there are none. */
  readonly print: (script: string, options: PrintOptions) => Promise<Uint8Array | string>;
}

export interface PrintOptions {
  readonly stdin?: string | Uint8Array | undefined;
  readonly limitBytes: number;
  readonly signal: AbortSignal;
}

export interface EnvironmentReader {
  list(): Promise<readonly EnvironmentSummary[]>;
}

export interface EnvironmentSummary {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly state: string;
  readonly tone: "waiting" | "running" | "good" | "bad";
  readonly createdAt: string;
}
