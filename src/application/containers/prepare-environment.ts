import {
  type CloneRange,
  type Credential,
  gitInProject,
  isRefName,
  PROJECT_FOLDER,
  type RemoteSource,
  type RepositorySource,
} from "../../domain/containers/clone-plan.ts";
import {
  type ChosenEnvironment,
  chooseEnvironment,
  containerName,
  ENVIRONMENT_LABELS,
} from "../../domain/containers/environments.ts";
import {
  type AddressesOf,
  badInputFailure,
  type PrepareEvent,
  type PrepareFailure,
  type PrepareNotice,
  type PrepareStep,
} from "../../domain/containers/preparation.ts";
import {
  type ContainerClaim,
  type ContainerInfo,
  type ContainerLimits,
  type ContainerNetwork,
  type DownloadStore,
  EngineUnavailable,
  type LocalRepositories,
  type SandboxFailure,
  type SandboxManager,
} from "../ports/containers.ts";
import {
  canReachRemote,
  cloneApart,
  cloneLocal,
  cloneRemote,
  localFailure,
  networkToClone,
  reachableAddresses,
} from "./clone-repository.ts";
import { type BuildImageDeps, ensureImage, type ImageChoice } from "./ensure-image.ts";
import { type InstallOutcome, installDependencies, layOutDownloads } from "./install-dependencies.ts";
import { type BesideContainer, createRunIn, type RunIn } from "./run-in-container.ts";

/** The configuration as `prepare` needs it: bytes, milliseconds, no strings to be read again. */
export interface PrepareConfig {
  readonly environments: Readonly<Record<string, ImageChoice>>;
  readonly defaultEnvironment: string;
  /** For an environment that names no image. */
  readonly baseImage: string;
  readonly limits: ContainerLimits;
  readonly network: ContainerNetwork;
  readonly mountDockerSocket: boolean;
  readonly cloneTimeoutMs: number;
  readonly installTimeoutMs: number;
  readonly autoInstall: boolean;
  readonly insecureHosts: readonly string[];
  /** Indexes of packages, as variables of the installers. */
  readonly indexes: Readonly<Record<string, string>>;
  /** The Debian root to build images of ours on; absent: what their Dockerfile says. */
  readonly buildRoot?: string | undefined;
}

export interface PrepareDeps {
  readonly sandboxes: SandboxManager;
  readonly images: BuildImageDeps;
  readonly local: LocalRepositories;
  readonly config: PrepareConfig;
  /** Absent: nothing is cached. */
  readonly downloads?: DownloadStore;
  readonly newId: () => string;
  readonly addressesOf: AddressesOf;
  readonly mask: (text: string) => string;
  readonly clock: () => number;
}

export interface PrepareRequest {
  readonly taskUuid: string;
  readonly source: RepositorySource;
  readonly credential: Credential | null;
  readonly range: CloneRange;
  readonly environmentName?: string | undefined;
  /** The image of a worker CLI that is to run in the environment. */
  readonly worker?: string | undefined;
  readonly lease: "process" | "detached";
  readonly claim?: ContainerClaim | undefined;
  readonly signal: AbortSignal;
  readonly onEvent?: ((event: PrepareEvent) => void) | undefined;
}

export interface PreparedEnvironment {
  readonly ok: true;
  readonly container: ContainerInfo;
  readonly chosen: ChosenEnvironment;
  readonly image: string;
  readonly from: "cold" | "warm";
  readonly notices: readonly PrepareNotice[];
  readonly installed: readonly InstallOutcome[];
}

function badRequestFailure({ range, source }: PrepareRequest): PrepareFailure | null {
  for (const name of [range.ref, range.target])
    if (name !== undefined && !isRefName(name)) return badInputFailure(name, "not a branch name");
  if (source.kind === "remote" && (source.protocol === "ssh" || source.protocol === "git"))
    return badInputFailure(source.url, `${source.protocol} cannot leave an environment`, "use-https");
  return null;
}

/** A credential that was part of an address is known only here. */
function maskCredential(
  mask: (text: string) => string,
  credential: Credential | null,
): (text: string) => string {
  if (credential === null || credential.password === "") return mask;
  const { password } = credential;
  return (text) => mask(text).replaceAll(password, "***").replaceAll(encodeURIComponent(password), "***");
}

function abortedFailure({ taskUuid }: PrepareRequest): PrepareFailure {
  return { ok: false, code: "aborted", subject: taskUuid, detail: "" };
}

function enginePrepareFailure(failure: SandboxFailure, mask: (text: string) => string): PrepareFailure {
  const { code, detail } = failure;
  if (code === "aborted") return { ok: false, code: "aborted", subject: "", detail: "" };
  const remedy = code === "engine-unreachable" ? ({ remedy: "start-docker" } as const) : {};
  return { ok: false, code: "engine", subject: code, detail: mask(detail), ...remedy };
}

/**
 * Choose the environment → its image → a container, in place of one with the same name → clone → install. If only the clone shows
 * the project's files, a container of another image may replace the first. Errors and aborts leave nothing behind.
 */
export async function prepareEnvironment(
  deps: PrepareDeps,
  request: PrepareRequest,
): Promise<PreparedEnvironment | PrepareFailure> {
  const bad = badRequestFailure(request);
  if (bad !== null) return bad;
  const preparation = new Preparation(
    { ...deps, mask: maskCredential(deps.mask, request.credential) },
    request,
  );
  try {
    const outcome = await preparation.run();
    if (!outcome.ok) await preparation.leaveNothing();
    return outcome;
  } catch (error) {
    await preparation.leaveNothing();
    if (request.signal.aborted) return abortedFailure(request);
    if (error instanceof EngineUnavailable) return enginePrepareFailure(error.failure, deps.mask);
    throw error;
  }
}

/** A project of some hundred thousand files has a listing of so many bytes. */
const LISTING_BYTES = 32 * 1024 ** 2;

class Preparation {
  readonly #notices: PrepareNotice[] = [];
  #started = false;

  constructor(
    readonly deps: PrepareDeps,
    readonly request: PrepareRequest,
  ) {}

  async run(): Promise<PreparedEnvironment | PrepareFailure> {
    const { request, deps } = this;
    this.step("choosing", request.environmentName ?? "");
    const files = await this.knownFiles();
    if (!(files === undefined || Array.isArray(files))) return files as PrepareFailure;
    let chosen = this.choose(files as readonly string[] | undefined);
    let started = await this.start(chosen.name);
    if (!started.ok) return started;
    let run = createRunIn(deps.sandboxes, started.id);
    let cloned = await this.clone(run, started.image);
    if (!cloned.ok) return cloned;
    const tracked = await this.trackedFiles(run);
    if (files === undefined && (request.environmentName ?? "") === "") {
      const found = this.choose(tracked);
      if (found.name !== chosen.name) {
        started = await this.start(found.name);
        if (!started.ok) return started;
        run = createRunIn(deps.sandboxes, started.id);
        cloned = await this.clone(run, started.image);
        if (!cloned.ok) return cloned;
      }
      chosen = found;
    }
    this.tellChoice(chosen);
    const installed = await this.install(run, tracked, started);
    if (request.signal.aborted) return abortedFailure(request);
    this.step("ready", started.name);
    return {
      ok: true,
      container: {
        container_id: started.id,
        task_uuid: request.taskUuid,
        environment_name: chosen.name,
        workspace_path: PROJECT_FOLDER,
        created_at: started.createdAt,
        status: "ready",
      },
      chosen,
      image: started.image,
      from: started.from,
      notices: this.#notices,
      installed,
    };
  }

  /** Idempotent; not stopped by the signal that ended the rest. */
  async leaveNothing(): Promise<void> {
    if (!this.#started) return;
    const { taskUuid, claim } = this.request;
    await this.deps.sandboxes.stopContainer(containerName(taskUuid), { force: true, claim });
  }

  /** A repository of this machine can be looked at before there is a container. */
  private async knownFiles(): Promise<readonly string[] | undefined | PrepareFailure> {
    const { source, range, signal } = this.request;
    if (source.kind === "remote") return undefined;
    const found = await this.deps.local.look(source.path, range.ref, signal);
    if (found.ok) {
      if (found.uncommitted > 0) this.notice({ code: "uncommitted", count: found.uncommitted });
      return found.files;
    }
    return localFailure(found, source.path, this.deps.mask(found.message));
  }

  private choose(files: readonly string[] | undefined): ChosenEnvironment {
    const { environments, defaultEnvironment } = this.deps.config;
    return chooseEnvironment({
      available: Object.keys(environments),
      fallback: defaultEnvironment,
      asked: this.request.environmentName,
      files,
    });
  }

  private tellChoice({ notice, source, name, because }: ChosenEnvironment): void {
    if (notice !== undefined) this.notice(notice);
    else if (source === "detected" && because !== undefined)
      this.notice({ code: "detected", environment: name, because });
  }

  private async start(environment: string) {
    const { deps, request } = this;
    const { config, sandboxes } = deps;
    const { signal, taskUuid } = request;
    const image = await this.ensure(environment);
    if (!image.ok) return image;
    this.#started = true;
    const started = await sandboxes.startContainer(
      {
        name: containerName(taskUuid),
        taskId: taskUuid,
        image: image.name,
        labels: { [ENVIRONMENT_LABELS.environment]: environment },
        limits: config.limits,
        network: config.network,
        mountDockerSocket: config.mountDockerSocket,
        lease: request.lease,
        claim: request.claim,
      },
      {
        signal,
        onProgress: ({ step }) => {
          if (step === "removing-existing") this.step("removing-existing", containerName(taskUuid));
          if (step === "creating") this.step("creating", image.name);
        },
      },
    );
    return started.ok ? { ...started, image: image.name } : enginePrepareFailure(started, deps.mask);
  }

  private async ensure(environment: string) {
    const { config, images, mask } = this.deps;
    const { signal } = this.request;
    const ensured = await ensureImage(images, {
      image: config.environments[environment] ?? config.baseImage,
      worker: this.request.worker,
      signal,
      onLine: (line) => this.emit({ type: "output", text: mask(line) }),
      onStep: (step, name) => this.step(`${step}-image`, name),
      root: config.buildRoot,
    });
    if (ensured.ok) return ensured;
    const { code, image, attempts, buildable } = ensured;
    if (code === "aborted") return abortedFailure(this.request);
    return {
      ok: false,
      code: code === "image-missing" ? "image-missing" : "image-failed",
      subject: image,
      detail: mask(attempts.join("\n")),
      remedy: buildable ? "images-build" : "check-image",
    } as const;
  }

  private clone(run: RunIn, image: string) {
    const { deps, request } = this;
    const { signal, source, range, credential } = request;
    const { cloneTimeoutMs: timeoutMs, insecureHosts } = deps.config;
    const emit = (event: PrepareEvent) => this.emit(event);
    const cloneParts = { run, timeoutMs, signal, emit, mask: deps.mask };
    if (source.kind === "local") return cloneLocal(cloneParts, deps.local, source.path, range);
    const insecure = insecureHosts.includes(source.host);
    if (insecure) this.notice({ code: "insecure-host", host: source.host });
    const access = { credential, insecure };
    if (canReachRemote(deps.config.network, source)) return cloneRemote(cloneParts, source, range, access);
    return cloneApart(cloneParts, () => this.openCloner(image, source), source, range, access);
  }

  /** It is removed with this process unless it is closed before. */
  private async openBeside(
    purpose: "clone" | "fetch",
    image: string,
    network: ContainerNetwork,
  ): Promise<BesideContainer | SandboxFailure> {
    const { sandboxes, config, newId } = this.deps;
    const taskId = `${purpose}-${newId()}`;
    const spec = { name: containerName(taskId), taskId, image, limits: config.limits, network };
    const started = await sandboxes.startContainer(spec, { signal: this.request.signal });
    if (!started.ok) return started;
    const close = async () => void (await sandboxes.stopContainer(started.id, { force: true }));
    return { run: createRunIn(sandboxes, started.id), close };
  }

  private async openCloner(image: string, source: RemoteSource): Promise<BesideContainer | PrepareFailure> {
    const { config, mask } = this.deps;
    const opened = await this.openBeside("clone", image, networkToClone(config.network, source));
    return "ok" in opened ? enginePrepareFailure(opened, mask) : opened;
  }

  private async trackedFiles(run: RunIn): Promise<readonly string[]> {
    const { signal } = this.request;
    const listed = await run(gitInProject("ls-files", "-z"), {
      signal,
      timeoutMs: 60_000,
      limitBytes: LISTING_BYTES,
    });
    return listed.stdout.split("\0").filter((path) => path !== "");
  }

  private async install(
    run: RunIn,
    files: readonly string[],
    { image }: { readonly image: string },
  ): Promise<readonly InstallOutcome[]> {
    const { config, mask, clock } = this.deps;
    if (!config.autoInstall) return [];
    const began = clock();
    const found = await this.downloads(run, image, files);
    return installDependencies(
      {
        run,
        timeoutMs: Math.max(config.installTimeoutMs - (clock() - began), 1),
        signal: this.request.signal,
        emit: (event) => this.emit(event),
        mask,
        clock,
        reachable: reachableAddresses(config.network),
        addressesOf: this.deps.addressesOf,
        env: { ...config.indexes, ...found },
      },
      files,
    );
  }

  private async downloads(
    run: RunIn,
    image: string,
    files: readonly string[],
  ): Promise<Readonly<Record<string, string>>> {
    const { config, downloads, images } = this.deps;
    const { signal } = this.request;
    if (downloads === undefined || config.network.mode === "none") return {};
    return layOutDownloads(
      {
        store: downloads,
        run,
        salt: JSON.stringify([image, config.indexes]),
        sha256: images.sha256,
        env: config.indexes,
        timeoutMs: config.installTimeoutMs,
        signal,
        emit: (event) => this.emit(event),
        openFetcher: async () => {
          const opened = await this.openBeside("fetch", image, config.network);
          return "ok" in opened ? null : opened;
        },
      },
      files,
    );
  }

  private step(step: PrepareStep, subject: string): void {
    this.emit({ type: "step", step, subject });
  }

  private notice(notice: PrepareNotice): void {
    const known = JSON.stringify(notice);
    if (this.#notices.some((other) => JSON.stringify(other) === known)) return;
    this.emit({ type: "notice", notice });
  }

  private emit(event: PrepareEvent): void {
    if (event.type === "notice") this.#notices.push(event.notice);
    this.request.onEvent?.(event);
  }
}
