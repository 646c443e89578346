import type { ChosenEnvironment } from "../../domain/containers/choose-environment.ts";
import type { PrepareEvent, PrepareNotice } from "../../domain/containers/prepare-event.ts";
import type { AddressesOf } from "../../domain/containers/refused-hosts.ts";
import type { Credential, RepositorySource } from "../../domain/containers/clone-plan.ts";
import type { DownloadStore } from "../ports/download-store.ts";
import type { LocalRepositories } from "../ports/local-repositories.ts";
import type { ContainerClaim, ContainerLimits, ContainerNetwork, SandboxManager } from "../ports/containers.ts";
import type { BuildImageDeps } from "./ensure-image.ts";
import type { CloneRange } from "../../domain/containers/environments-clone-plan.ts";
import type { ContainerInfo } from "../../domain/containers/container-info.ts";
import type { ImageChoice } from "./environments-ensure-image.ts";
import type { InstallOutcome } from "./environments-install-dependencies.ts";

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
  readonly buildRoot?: string;
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
  /** What the plan or a person asked for. */
  readonly environmentName?: string;
  /** The image of a worker CLI that is to run in the environment. */
  readonly worker?: string;
  readonly lease: "process" | "detached";
  readonly claim?: ContainerClaim;
  readonly signal: AbortSignal;
  readonly onEvent?: (event: PrepareEvent) => void;
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
