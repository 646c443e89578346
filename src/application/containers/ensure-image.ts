import type { Config } from "../../config/config.ts";
import {
  derivedName,
  environmentImages,
  IMAGE_RECIPES,
  type ImageRecipe,
  pullNames,
  RECIPE_LABEL,
  recipeFor,
  withBases,
  withTag,
  workerImageName,
} from "../../domain/containers/environments.ts";
import type {
  ContextFile,
  ImageBuild,
  ImageProgress,
  Images,
  Recipes,
  SandboxFailure,
} from "../ports/containers.ts";

export interface BuildImageDeps {
  readonly images: Images;
  readonly recipes: Recipes;
  readonly sha256: (bytes: Uint8Array) => string;
  /** The registry of npm packages; null where it is unknown. Asked when an image is built that needs it. */
  readonly npmRegistry: (signal?: AbortSignal) => Promise<string | null>;
}

/** How a Dockerfile says that it needs the registry. It is not part of the hash: the packages are the same anywhere. */
const NPM_ARGUMENT = /^ARG NPM_REGISTRY$/m;

export interface BuildRequest extends ImageProgress {
  readonly recipe: ImageRecipe;
  /** The Debian root below our base image. Absent: what its Dockerfile says. */
  readonly root?: string | undefined;
  /** Builds even what is there unchanged. */
  readonly again?: boolean;
  /** Called for each image before it is built. `kept`: its base is unavailable, so the existing image is kept. */
  readonly onImage?: (name: string, what: "unchanged" | "building" | "kept") => void;
}

export type ImageBuildOutcome =
  | { readonly ok: true; readonly name: string; readonly built: readonly string[] }
  | {
      readonly ok: false;
      readonly name: string;
      readonly code: "recipe-missing" | "root-missing" | "no-root" | "build-failed" | "aborted";
      readonly message: string;
    };

/** Builds an image of ours and its bases, each only if its inputs have changed. */
export async function buildImage(deps: BuildImageDeps, request: BuildRequest): Promise<ImageBuildOutcome> {
  const built: string[] = [];
  const name = withTag(request.recipe.name);
  for (const recipe of withBases(request.recipe)) {
    const one = await buildOne(deps, request, recipe);
    if (!one.ok) return one;
    if (one.built) built.push(withTag(recipe.name));
  }
  return { ok: true, name, built };
}

/** Builds an image of ours by its name; `from` is a base image, or `debian-rootfs`, which is built if it is missing. */
export async function buildNamedImage(
  deps: BuildImageDeps & {
    readonly ensureDebianRoot: (
      images: Images,
      progress: ImageProgress,
    ) => Promise<
      | { readonly ok: true; readonly name: string }
      | { readonly ok: false; readonly name: string; readonly message: string }
    >;
  },
  {
    name,
    from,
    ...rest
  }: Omit<BuildRequest, "recipe" | "root"> & { readonly name: string; readonly from?: string },
): Promise<ImageBuildOutcome> {
  const recipe = IMAGE_RECIPES.find((known) => known.name === name);
  if (recipe === undefined) return { ok: false, name, code: "recipe-missing", message: "unknown image" };
  if (from !== "debian-rootfs") return buildImage(deps, { recipe, ...rest, root: from });
  const root = await deps.ensureDebianRoot(deps.images, rest);
  if (!root.ok) return { ok: false, name: root.name, code: "root-missing", message: root.message };
  return buildImage(deps, { recipe, ...rest, root: root.name });
}

async function buildOne(
  { images, recipes, sha256, npmRegistry }: BuildImageDeps,
  { root, again, onImage, onLine, signal }: BuildRequest,
  recipe: ImageRecipe,
): Promise<Extract<ImageBuildOutcome, { ok: false }> | { readonly ok: true; readonly built: boolean }> {
  const name = withTag(recipe.name);
  const folder = recipes.filesOf(recipe.folder);
  if (folder === null)
    return { ok: false, name, code: "recipe-missing", message: `images/${recipe.folder} is missing` };
  const files = recipe.on === null ? [...folder, ...certificatesIn(recipes)] : folder;
  const known = await images.inspect(name, signal);
  // An image that was built on a named root is built on it again, so that its base never changes by accident.
  const base = recipe.on === null ? (root ?? known?.labels[ROOT_LABEL]) : withTag(recipe.on);
  const baseFacts = base === undefined ? null : await images.inspect(base, signal);
  const args = base === undefined ? {} : { BASE: base };
  const hash = recipeHash(sha256, files, args, baseFacts?.id ?? "");
  if (again !== true && known?.labels[RECIPE_LABEL] === hash) {
    onImage?.(name, "unchanged");
    return { ok: true, built: false };
  }
  onImage?.(name, "building");
  const registry = needsRegistry(files) ? await npmRegistry(signal) : undefined;
  if (registry === null) return { ok: false, name, code: "build-failed", message: NO_REGISTRY };
  const outcome = await images.build({
    name,
    files,
    args: { ...args, ...(registry !== undefined && { NPM_REGISTRY: registry }) },
    labels: {
      [RECIPE_LABEL]: hash,
      ...(recipe.on === null && base !== undefined && { [ROOT_LABEL]: base }),
    },
    onLine,
    signal,
  });
  if (outcome.ok) return { ok: true, built: true };
  if (outcome.reason === "aborted") return { ok: false, name, code: "aborted", message: outcome.message };
  const noRoot = recipe.on === null && (outcome.reason === "unreachable" || outcome.reason === "not-found");
  if (noRoot && known !== null && root === undefined && again !== true) {
    onImage?.(name, "kept");
    return { ok: true, built: false };
  }
  return { ok: false, name, code: noRoot ? "no-root" : "build-failed", message: outcome.message };
}

const ROOT_LABEL = "picoclaw.image-root";

const NO_REGISTRY =
  "npm is not installed, so its registry is unknown: install npm, or set command_executor.install.npm_registry";

function needsRegistry(files: readonly ContextFile[]): boolean {
  const dockerfile = files.find(({ path }) => path === "Dockerfile");
  return dockerfile !== undefined && NPM_ARGUMENT.test(Buffer.from(dockerfile.bytes).toString("utf8"));
}

/** A folder must be in the context even when it is empty. */
function certificatesIn(recipes: Recipes): readonly ContextFile[] {
  const keep: ContextFile = { path: "certificates/.keep", bytes: new Uint8Array(), executable: false };
  return [keep, ...recipes.certificates().map((file) => ({ ...file, path: `certificates/${file.path}` }))];
}

/** A hash over everything that decides what an image becomes, as far as it can be known. */
function recipeHash(
  sha256: BuildImageDeps["sha256"],
  files: readonly ContextFile[],
  args: Readonly<Record<string, string>>,
  baseId: string,
): string {
  const listed = [...files]
    .sort((x, y) => (x.path < y.path ? -1 : 1))
    .map(({ path, bytes, executable }) => [path, executable, sha256(bytes)]);
  return sha256(Buffer.from(JSON.stringify([listed, Object.entries(args).sort(), baseId]))).slice(0, 32);
}

/** Any image made fit for an environment: git, the user, the folders; ours are already. Kept under the image's id, so made once. */
async function deriveImage(
  deps: BuildImageDeps,
  image: string,
  progress: ImageProgress,
): Promise<DerivedImageOutcome> {
  const facts = await deps.images.inspect(image, progress.signal);
  if (facts === null) return missingImageFailure(image);
  if (facts.labels[RECIPE_LABEL] !== undefined || recipeFor(image) !== undefined)
    return { ok: true, name: image };
  return buildOver(deps, progress, {
    name: derivedName(facts.id),
    folder: "derived",
    args: { BASE: image },
    ids: facts.id,
    labels: { "picoclaw.derived-from": image },
  });
}

/** An environment's image with a worker CLI in it, both of which are there. Kept under the ids of both, so it is made once. */
async function addWorker(
  deps: BuildImageDeps,
  { cli, image }: { readonly cli: string; readonly image: string },
  progress: ImageProgress,
): Promise<DerivedImageOutcome> {
  const [worker, base] = [
    await deps.images.inspect(cli, progress.signal),
    await deps.images.inspect(image, progress.signal),
  ];
  if (worker === null || base === null) return missingImageFailure(worker === null ? cli : image);
  return buildOver(deps, progress, {
    name: workerImageName(worker.id, base.id),
    folder: "worker",
    args: { CLI: cli, BASE: image },
    ids: `${worker.id} ${base.id}`,
    labels: { "picoclaw.derived-from": image, "picoclaw.worker": cli },
  });
}

type DerivedImageOutcome =
  | { readonly ok: true; readonly name: string }
  | Extract<ImageBuildOutcome, { ok: false }>;

interface OverBuild extends Pick<ImageBuild, "name" | "args" | "labels"> {
  readonly folder: string;
  readonly ids: string;
}

async function buildOver(
  { images, recipes, sha256 }: BuildImageDeps,
  { onLine, signal }: ImageProgress,
  { name, folder, args, ids, labels }: OverBuild,
): Promise<DerivedImageOutcome> {
  const files = recipes.filesOf(folder);
  if (files === null)
    return { ok: false, name, code: "recipe-missing", message: `images/${folder} is missing` };
  const hash = recipeHash(sha256, files, {}, ids);
  if ((await images.inspect(name, signal))?.labels[RECIPE_LABEL] === hash) return { ok: true, name };
  const labelled = { ...labels, [RECIPE_LABEL]: hash };
  const outcome = await images.build({ name, files, args, labels: labelled, onLine, signal });
  if (outcome.ok) return { ok: true, name };
  const code = outcome.reason === "aborted" ? "aborted" : "build-failed";
  return { ok: false, name, code, message: outcome.message };
}

function missingImageFailure(image: string): Extract<ImageBuildOutcome, { ok: false }> {
  return { ok: false, name: image, code: "build-failed", message: `no such image: ${image}` };
}

/** The configured meaning of an environment's name. */
export type ImageChoice = string | { readonly dockerfile: string };

export interface EnsureRequest extends ImageProgress {
  readonly image: ImageChoice;
  /** The image of a worker CLI that is to run in it too. */
  readonly worker?: string | undefined;
  /** The Debian root for building; absent: what the Dockerfile says. */
  readonly root?: string | undefined;
  readonly onStep?: (step: "pulling" | "building" | "deriving", name: string) => void;
}

export type EnsuredImage =
  | { readonly ok: true; readonly name: string }
  | {
      readonly ok: false;
      readonly code: "image-missing" | "build-failed" | "dockerfile" | "aborted";
      readonly image: string;
      /** The output of each attempt, for the person who fixes it. */
      readonly attempts: readonly string[];
      /** Whether `images build` can make it. */
      readonly buildable: boolean;
    };

interface Ensuring {
  readonly deps: BuildImageDeps;
  readonly request: EnsureRequest;
}

/** The image for an environment: existing, pulled or built, then completed if it lacks something. */
export async function ensureImage(deps: BuildImageDeps, request: EnsureRequest): Promise<EnsuredImage> {
  const { image, onStep } = request;
  const ensuring = { deps, request };
  const found =
    typeof image === "string"
      ? await obtainImage(ensuring, image)
      : await projectImage(ensuring, image.dockerfile);
  if (!found.ok) return found;
  const derived = await deriveImage(deps, found.name, {
    signal: request.signal,
    onLine: (line) => {
      onStep?.("deriving", found.name);
      request.onLine?.(line);
    },
  });
  if (!derived.ok) return notDerived(found.name, derived);
  return request.worker === undefined ? derived : withWorker(ensuring, derived.name, request.worker);
}

/** Both are there or made, then the one is laid over the other. */
async function withWorker(ensuring: Ensuring, image: string, worker: string): Promise<EnsuredImage> {
  const { deps, request } = ensuring;
  const cli = await obtainImage(ensuring, worker);
  if (!cli.ok) return cli;
  const added = await addWorker(
    deps,
    { cli: cli.name, image },
    {
      signal: request.signal,
      onLine: (line) => {
        request.onStep?.("building", `${worker} + ${image}`);
        request.onLine?.(line);
      },
    },
  );
  return added.ok ? added : notDerived(image, added);
}

type NotEnsured = Extract<EnsuredImage, { ok: false }>;

function notEnsured(
  code: NotEnsured["code"],
  image: string,
  attempts: readonly string[],
  buildable = false,
): NotEnsured {
  return { ok: false, code, image, attempts, buildable };
}

function notDerived(image: string, { code, message }: Extract<DerivedImageOutcome, { ok: false }>) {
  return notEnsured(code === "aborted" ? "aborted" : "build-failed", image, [message]);
}

async function obtainImage({ deps, request }: Ensuring, image: string): Promise<EnsuredImage> {
  const { images } = deps;
  const { signal, onLine, onStep, root } = request;
  const name = withTag(image);
  if ((await images.inspect(name, signal)) !== null) return { ok: true, name };
  const attempts: string[] = [];
  for (const from of pullNames(name)) {
    onStep?.("pulling", from);
    const pulled = await images.pull(from, request);
    if (pulled.ok) {
      if (from !== name) await images.tag(from, name);
      return { ok: true, name };
    }
    if (pulled.reason === "aborted") return notEnsured("aborted", name, attempts);
    attempts.push(`${from}: ${pulled.message}`);
  }
  const recipe = recipeFor(name);
  if (recipe === undefined) return notEnsured("image-missing", name, attempts);
  onStep?.("building", name);
  const built = await buildImage(deps, { recipe, root, signal, onLine });
  if (built.ok) return { ok: true, name };
  const code = built.code === "aborted" ? "aborted" : "image-missing";
  return notEnsured(code, name, [...attempts, `${built.name}: ${built.message}`], true);
}

/** A project's own Dockerfile, kept by its content. */
async function projectImage({ deps, request }: Ensuring, dockerfile: string): Promise<EnsuredImage> {
  const { images, recipes, sha256 } = deps;
  const files = recipes.project(dockerfile);
  if (typeof files === "string") return notEnsured("dockerfile", dockerfile, [files]);
  const name = `picoclaw-project:${recipeHash(sha256, files, {}, "")}`;
  if ((await images.inspect(name, request.signal)) !== null) return { ok: true, name };
  request.onStep?.("building", dockerfile);
  const { signal, onLine } = request;
  const outcome = await images.build({ name, files, args: {}, labels: {}, signal, onLine });
  if (outcome.ok) return { ok: true, name };
  return notEnsured(outcome.reason === "aborted" ? "aborted" : "build-failed", dockerfile, [outcome.message]);
}

export interface TaskImageDeps {
  /** A failure says that the engine's address cannot be read. */
  readonly images: Images | SandboxFailure;
  readonly recipes: Omit<BuildImageDeps, "images">;
  readonly config: Pick<Config["command_executor"], "docker" | "environments">;
  /** An image that has the CLI, or an environment with the CLI's image over it. */
  readonly wanted: { readonly image: string } | { readonly environment: string; readonly worker: string };
  readonly describe: (step: "pulling" | "building", name: string) => string;
}

interface ImageRun {
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
}

/** The image of a task's worker, pulled or built where it is missing. */
export function createTaskImage({ images, recipes, config, wanted, describe }: TaskImageDeps) {
  const choice =
    "image" in wanted
      ? wanted
      : {
          image: environmentImages(config.environments)[wanted.environment] ?? config.docker.base_image,
          worker: wanted.worker,
        };
  return async ({ signal, onProgress }: ImageRun) => {
    if ("ok" in images) return { ok: false, detail: images.detail } as const;
    const ensured = await ensureImage(
      { ...recipes, images },
      {
        ...choice,
        signal,
        onStep: (step, name) => onProgress(describe(step === "pulling" ? step : "building", name)),
      },
    );
    return ensured.ok ? ensured : ({ ok: false, detail: ensured.attempts.join("; ") } as const);
  };
}
