import type { SandboxFailure } from "./containers.ts";

/** An engine that does not answer is no answer about images: every operation rejects with this. */
export class EngineUnavailable extends Error {
  constructor(readonly failure: SandboxFailure) {
    super(failure.detail);
    this.name = "EngineUnavailable";
  }
}

/** The engine's images. Failures are values, but for an engine that cannot be asked (`EngineUnavailable`). */
export interface Images {
  /** Null where there is none of that name. */
  inspect(name: string, signal?: AbortSignal): Promise<ImageFacts | null>;
  /** Fetches an image from its registry. Aborting leaves what was fetched so far to the engine. */
  pull(name: string, options: ImageProgress): Promise<ImageOutcome>;
  /** Builds an image from a folder of files. Aborting ends the build. */
  build(request: ImageBuild): Promise<ImageOutcome>;
  /** Gives an image a further name. */
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
  readonly signal?: AbortSignal;
  /** One line of what goes on; must not throw. */
  readonly onLine?: (line: string) => void;
}

export interface ImportOptions extends ImageProgress {
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

/** The recipes that came with the program. */
export interface Recipes {
  /** The files of a recipe's folder, or of a project's own; null where there is none. */
  filesOf(folder: string): readonly ContextFile[] | null;
  /** Certificates of authorities that the building machine trusts beyond the usual ones. */
  certificates(): readonly ContextFile[];
  /** The files of a folder with a Dockerfile of a project; a text says why it cannot be used. */
  project(dockerfile: string): readonly ContextFile[] | string;
}
