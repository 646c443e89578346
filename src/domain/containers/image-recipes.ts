/** An image that we know how to build. */
export interface ImageRecipe {
  readonly name: string;
  /** Its folder under `images/`. */
  readonly folder: string;
  /** The recipe of its base image; null for the one whose base is a Debian root. */
  readonly on: string | null;
}

const BASE_IMAGE = "coding-agent-executor";

/** Bases first. */
export const IMAGE_RECIPES: readonly ImageRecipe[] = [
  { name: BASE_IMAGE, folder: "base", on: null },
  { name: `${BASE_IMAGE}-python`, folder: "python", on: BASE_IMAGE },
  { name: `${BASE_IMAGE}-miniforge`, folder: "miniforge", on: BASE_IMAGE },
  { name: `${BASE_IMAGE}-node`, folder: "node", on: BASE_IMAGE },
  { name: "agent-runner-codex", folder: "agent-runner-codex", on: BASE_IMAGE },
  { name: "agent-runner-claude", folder: "agent-runner-claude", on: BASE_IMAGE },
  { name: "agent-runner-gemini", folder: "agent-runner-gemini", on: BASE_IMAGE },
];

/** The label of a built image: the hash of all its inputs, so that the same image is not built twice. */
export const RECIPE_LABEL = "picoclaw.image-recipe";

/** The recipe for an image name with or without its tag; ours have the tag `latest` only. */
export function recipeFor(image: string): ImageRecipe | undefined {
  const name = image.replace(/:latest$/, "");
  return IMAGE_RECIPES.find((recipe) => recipe.name === name);
}

/** For `images build`: also by the last word of the name, `python`. */
export function recipeNamed(name: string): ImageRecipe | undefined {
  return recipeFor(name) ?? IMAGE_RECIPES.find(({ folder }) => folder === name);
}

/** A recipe and those below it, in the order in which they are built. */
export function withBases(recipe: ImageRecipe): readonly ImageRecipe[] {
  const below = recipe.on === null ? undefined : recipeFor(recipe.on);
  return below === undefined ? [recipe] : [...withBases(below), recipe];
}

/** Where an image can be pulled under another name. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "agent-runner-codex": "ghcr.io/biwakonbu/agent-runner-codex:latest",
  "agent-runner-claude": "ghcr.io/biwakonbu/agent-runner-claude:latest",
  "agent-runner-gemini": "ghcr.io/biwakonbu/agent-runner-gemini:latest",
};

/** Names to pull an image by, the bare one first: it may be built here. */
export function pullNames(image: string): readonly string[] {
  const elsewhere = ELSEWHERE[image.replace(/:latest$/, "")];
  return elsewhere === undefined ? [image] : [image, elsewhere];
}

/** A name with its tag; a digest or a tag that is there stays. */
export function withTag(image: string): string {
  const last = image.slice(image.lastIndexOf("/") + 1);
  return last.includes(":") || last.includes("@") ? image : `${image}:latest`;
}

/** Under which name the image is kept that makes another one fit for an environment. */
export function derivedName(imageId: string): string {
  return `picoclaw-derived:${imageId.replace(/^sha256:/, "").slice(0, 16)}`;
}

/** Under which name the image is kept that has a worker CLI over an environment's image. */
export function workerImageName(cliId: string, imageId: string): string {
  const short = (id: string) => id.replace(/^sha256:/, "").slice(0, 12);
  return `picoclaw-worker:${short(cliId)}-${short(imageId)}`;
}

/** One entry of `command_executor.environments`. */
export type EnvironmentSetting =
  | string
  | { readonly image: string; readonly commands?: readonly string[] | undefined }
  | { readonly dockerfile: string; readonly commands?: readonly string[] | undefined };

/** Commands in all PicoClaw images that read or rewrite text. */
const TEXT_COMMANDS = [
  "rg",
  "patch",
  "tee",
  "cut",
  "tr",
  "nl",
  "basename",
  "dirname",
  "realpath",
  "date",
  "seq",
];

/** The purpose of each PicoClaw image, beyond the built-in list. */
const SHIPPED: Readonly<Record<string, readonly string[]>> = {
  base: TEXT_COMMANDS,
  python: [..."uv poetry pipenv tox nox ruff isort coverage gcc g++".split(" "), ...TEXT_COMMANDS],
  miniforge: [..."uv poetry tox nox ruff isort coverage".split(" "), ...TEXT_COMMANDS],
  node: [..."node npx gcc g++".split(" "), ...TEXT_COMMANDS],
};

/** The image by its name, or the project's own Dockerfile. */
function imageOf(setting: EnvironmentSetting): string | { readonly dockerfile: string } {
  if (typeof setting === "string") return setting;
  return "image" in setting ? setting.image : { dockerfile: setting.dockerfile };
}

/** Commands that a model may run there beside the lists; what the configuration names replaces what is shipped. */
export function environmentCommands(setting: EnvironmentSetting | undefined): readonly string[] {
  if (setting === undefined) return [];
  if (typeof setting !== "string" && setting.commands !== undefined) return setting.commands;
  const image = imageOf(setting);
  return (typeof image === "string" && SHIPPED[recipeFor(image)?.folder ?? ""]) || [];
}

/** The same names, each with its image alone. */
export function environmentImages(settings: Readonly<Record<string, EnvironmentSetting>>) {
  return Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, imageOf(setting)]));
}
