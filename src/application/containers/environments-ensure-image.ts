import { pullNames, recipeFor, withTag } from "../../domain/containers/image-recipes.ts";
import type { ImageProgress } from "../ports/images.ts";
import { addWorker, type BuildImageDeps, buildImage, deriveImage, recipeHash } from "./ensure-image.ts";

/** What an environment's name stands for in the configuration. */
export type ImageChoice = string | { readonly dockerfile: string };

export interface EnsureRequest extends ImageProgress {
  readonly image: ImageChoice;
  /** The image of a worker CLI that is to run in it too. */
  readonly worker?: string;
  /** The Debian root for building; absent: what the Dockerfile says. */
  readonly root?: string;
  readonly onStep?: (step: "pulling" | "building" | "deriving", name: string) => void;
}

export type EnsuredImage =
  | { readonly ok: true; readonly name: string }
  | {
      readonly ok: false;
      readonly code: "image-missing" | "build-failed" | "dockerfile" | "aborted";
      readonly image: string;
      /** What each attempt said, for the person who mends it. */
      readonly attempts: readonly string[];
      /** Whether `images build` can make it. */
      readonly buildable: boolean;
    };

/** The image for an environment, by whatever way there is: as it is, pulled, built; then made fit where it is not. */
export async function ensureImage(parts: BuildImageDeps, request: EnsureRequest): Promise<EnsuredImage> {
  const { image, onStep } = request;
  const found =
    typeof image === "string"
      ? await obtainImage(parts, request, image)
      : await projectImage(parts, request, image.dockerfile);
  if (!found.ok) return found;
  const derived = await deriveImage(parts, found.name, {
    ...progressOf(request),
    onLine: (line) => {
      onStep?.("deriving", found.name);
      request.onLine?.(line);
    },
  });
  if (!derived.ok) return ensureFailure(found.name, derived);
  return request.worker === undefined ? derived : withWorker(parts, request, derived.name, request.worker);
}

/** Both are there or made, then the one is laid over the other. */
async function withWorker(
  parts: BuildImageDeps,
  request: EnsureRequest,
  image: string,
  worker: string,
): Promise<EnsuredImage> {
  const cli = await obtainImage(parts, request, worker);
  if (!cli.ok) return cli;
  const added = await addWorker(
    parts,
    { cli: cli.name, image },
    {
      ...progressOf(request),
      onLine: (line) => {
        request.onStep?.("building", `${worker} + ${image}`);
        request.onLine?.(line);
      },
    },
  );
  return added.ok ? added : ensureFailure(image, added);
}

function ensureFailure(
  image: string,
  { code, message }: { readonly code: string; readonly message: string },
): EnsuredImage {
  return {
    ok: false,
    code: code === "aborted" ? "aborted" : "build-failed",
    image,
    attempts: [message],
    buildable: false,
  };
}

async function obtainImage(
  parts: BuildImageDeps,
  request: EnsureRequest,
  image: string,
): Promise<EnsuredImage> {
  const { images } = parts;
  const { signal, onStep, root } = request;
  const name = withTag(image);
  if ((await images.inspect(name, signal)) !== null) return { ok: true, name };
  const attempts: string[] = [];
  for (const from of pullNames(name)) {
    onStep?.("pulling", from);
    const pulled = await images.pull(from, progressOf(request));
    if (pulled.ok) {
      if (from !== name) await images.tag(from, name);
      return { ok: true, name };
    }
    if (pulled.reason === "aborted")
      return { ok: false, code: "aborted", image: name, attempts, buildable: false };
    attempts.push(`${from}: ${pulled.message}`);
  }
  const recipe = recipeFor(name);
  if (recipe === undefined)
    return { ok: false, code: "image-missing", image: name, attempts, buildable: false };
  onStep?.("building", name);
  const built = await buildImage(parts, {
    recipe,
    ...(root !== undefined && { root }),
    ...progressOf(request),
  });
  if (built.ok) return { ok: true, name };
  const code = built.code === "aborted" ? "aborted" : "image-missing";
  return {
    ok: false,
    code,
    image: name,
    attempts: [...attempts, `${built.name}: ${built.message}`],
    buildable: true,
  };
}

/** A project's own Dockerfile, kept by its content. */
async function projectImage(
  parts: BuildImageDeps,
  request: EnsureRequest,
  dockerfile: string,
): Promise<EnsuredImage> {
  const { images, recipes, sha256 } = parts;
  const files = recipes.project(dockerfile);
  if (typeof files === "string")
    return { ok: false, code: "dockerfile", image: dockerfile, attempts: [files], buildable: false };
  const name = `picoclaw-project:${recipeHash(sha256, files, {}, "")}`;
  if ((await images.inspect(name, request.signal)) !== null) return { ok: true, name };
  request.onStep?.("building", dockerfile);
  const outcome = await images.build({ name, files, args: {}, labels: {}, ...progressOf(request) });
  if (outcome.ok) return { ok: true, name };
  const code = outcome.reason === "aborted" ? "aborted" : "build-failed";
  return { ok: false, code, image: dockerfile, attempts: [outcome.message], buildable: false };
}

function progressOf({ signal, onLine }: ImageProgress): ImageProgress {
  return { ...(signal !== undefined && { signal }), ...(onLine !== undefined && { onLine }) };
}
