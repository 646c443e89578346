import { isForeignPath } from "../policy/protection.ts";

/** A language, the files that give it away, and which of our environments serves it best. */
export interface Language {
  readonly name: string;
  /** The environment of that name is taken where the configuration has one; else the nearest of ours. */
  readonly environment: string;
  readonly nearest: "python" | "miniforge" | "node";
  /** Names in the project's root, the tell-tale ones first. `*` matches anything but a slash. */
  readonly markers: readonly string[];
  /** Extensions of its source files, without the dot. */
  readonly extensions: readonly string[];
}

/** A row of the table below; the words of a list are separated by blanks. */
const language = (
  name: string,
  [environment, nearest]: readonly [string, Language["nearest"]],
  markers: string,
  extensions = "",
): Language => ({ name, environment, nearest, markers: wordsOf(markers), extensions: wordsOf(extensions) });

const wordsOf = (text: string) => text.split(" ").filter((word) => word !== "");

/** The files that identify a language. Conda is first: its file names the whole environment. Between equals the order of others counts. */
export const LANGUAGES: readonly Language[] = [
  language(
    "conda",
    ["miniforge", "miniforge"],
    "condaenv.yaml condaenv.yml environment.yml environment.yaml conda-lock.yml",
  ),
  language(
    "Python",
    ["python", "python"],
    "uv.lock poetry.lock pdm.lock Pipfile.lock pyproject.toml requirements.txt " +
      "Pipfile setup.py setup.cfg requirements*.txt tox.ini manage.py",
    "py pyi ipynb",
  ),
  language(
    "Node.js",
    ["node", "node"],
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock package.json tsconfig.json jsconfig.json",
    "js mjs cjs jsx ts mts cts tsx vue svelte",
  ),
  language("Bun", ["bun", "node"], "bun.lock bun.lockb bunfig.toml"),
  language("Deno", ["deno", "node"], "deno.lock deno.json deno.jsonc"),
  language("Go", ["go", "python"], "go.mod go.work", "go"),
  language("Rust", ["rust", "python"], "Cargo.lock Cargo.toml", "rs"),
  language("Ruby", ["ruby", "python"], "Gemfile.lock Gemfile *.gemspec Rakefile", "rb"),
  language("PHP", ["php", "python"], "composer.lock composer.json", "php"),
  language("Java", ["java", "python"], "pom.xml build.gradle build.gradle.kts gradlew", "java kt scala"),
  language(".NET", ["dotnet", "python"], "*.sln *.csproj *.fsproj global.json", "cs fs"),
  language("Elixir", ["elixir", "python"], "mix.exs", "ex exs"),
  language("Swift", ["swift", "python"], "Package.swift", "swift"),
  language("R", ["r", "miniforge"], "renv.lock *.Rproj DESCRIPTION", "r R Rmd"),
  language("Julia", ["julia", "miniforge"], "Project.toml Manifest.toml", "jl"),
  language(
    "C/C++",
    ["cpp", "python"],
    "CMakeLists.txt meson.build configure.ac configure",
    "c cc cpp cxx h hpp",
  ),
];

function fitsMarker(marker: string, name: string): boolean {
  const star = marker.indexOf("*");
  if (star < 0) return marker === name;
  const [before, after] = [marker.slice(0, star), marker.slice(star + 1)];
  return name.length >= marker.length - 1 && name.startsWith(before) && name.endsWith(after);
}

export interface EnvironmentRequest {
  readonly asked?: string | undefined;
  readonly available: readonly string[];
  readonly fallback: string;
  /** The project's files, where they are known already. */
  readonly files?: readonly string[] | undefined;
}

export interface ChosenEnvironment {
  readonly name: string;
  readonly source: "asked" | "detected" | "default";
  readonly because?: string;
  readonly notice?: EnvironmentNotice;
}

export type EnvironmentNotice =
  /** An unknown name falls back to the default: a model's slip must not end the task. */
  | { readonly code: "unknown-environment"; readonly asked: string; readonly used: string }
  /** We have no image for the language; this is the nearest. */
  | { readonly code: "nearest"; readonly language: string; readonly wanted: string; readonly used: string };

/** Asked for by name, else by the project's files, else the default. */
export function chooseEnvironment(request: EnvironmentRequest): ChosenEnvironment {
  const { asked, available, fallback, files } = request;
  if (asked !== undefined && asked !== "") {
    if (available.includes(asked)) return { name: asked, source: "asked" };
    const notice: EnvironmentNotice = { code: "unknown-environment", asked, used: fallback };
    return { name: fallback, source: "default", notice };
  }
  const detected = files === undefined ? null : detectLanguage(files);
  if (detected === null) return { name: fallback, source: "default" };
  const { language, because } = detected;
  if (available.includes(language.environment))
    return { name: language.environment, source: "detected", because };
  const used = available.includes(language.nearest) ? language.nearest : fallback;
  return {
    name: used,
    source: "detected",
    because,
    notice: { code: "nearest", language: language.name, wanted: language.environment, used },
  };
}

/** The file that contradicts a requested environment: it names another language, and none names the asked one. Null: there is none. */
export function contradictingFile(
  asked: string,
  files: readonly string[],
  available: readonly string[],
): string | null {
  const serves = ({ environment, nearest }: Language) =>
    available.includes(environment) ? environment : nearest;
  const detected = detectLanguage(files);
  if (detected === null || serves(detected.language) === asked) return null;
  const marked = files.filter((path) => path.split("/").length <= 2 && !isForeignPath(path));
  const isMarked = (language: Language) => markerIn(language, marked) !== undefined;
  // Where no file marks a language, sources of the asked one are enough to believe it.
  const speaks = isMarked(detected.language)
    ? isMarked
    : (language: Language) => sourcesOf(language.extensions, files).length > 0;
  return LANGUAGES.some((language) => serves(language) === asked && speaks(language))
    ? null
    : detected.because;
}

interface DetectedLanguage {
  readonly language: Language;
  /** The file that decided, or an example of its sources. */
  readonly because: string;
}

/**
 * The language of a project by its files (paths from its root). Markers in the root decide, and between several the number of
 * source files; then markers one level down; then source files alone. Null where nothing tells.
 */
export function detectLanguage(files: readonly string[]): DetectedLanguage | null {
  const root = files.filter((path) => !path.includes("/"));
  const below = files.filter((path) => path.split("/").length === 2 && !isForeignPath(path));
  return byMarkers(root, files) ?? byMarkers(below, files) ?? bySources(files);
}

function byMarkers(marked: readonly string[], files: readonly string[]): DetectedLanguage | null {
  const found = LANGUAGES.flatMap((language): DetectedLanguage[] => {
    const because = markerIn(language, marked);
    return because === undefined ? [] : [{ language, because }];
  });
  const conda = found.find(({ language }) => language.name === "conda");
  if (conda !== undefined || found.length < 2) return conda ?? found[0] ?? null;
  // A lock file of Bun or Deno names the runtime of what is otherwise a Node.js project.
  const runtime = found.find(({ language }) => language.name === "Bun" || language.name === "Deno");
  const others = found.filter(({ language }) => language.name !== "Node.js" || runtime === undefined);
  return others.reduce((best, next) => (weight(next, files) > weight(best, files) ? next : best));
}

function markerIn({ markers }: Language, files: readonly string[]): string | undefined {
  for (const marker of markers) {
    const fitting = files.find((path) => fitsMarker(marker, path.slice(path.lastIndexOf("/") + 1)));
    if (fitting !== undefined) return fitting;
  }
  return undefined;
}

function weight({ language }: DetectedLanguage, files: readonly string[]): number {
  const counted = language.nearest === "node" ? nodeExtensions : language.extensions;
  return sourcesOf(counted, files).length;
}

function bySources(files: readonly string[]): DetectedLanguage | null {
  let best: { language: Language; sources: readonly string[] } | null = null;
  for (const language of LANGUAGES) {
    const sources = sourcesOf(language.extensions, files);
    if (sources.length > (best?.sources.length ?? 0)) best = { language, sources };
  }
  return best === null ? null : { language: best.language, because: best.sources[0] as string };
}

function sourcesOf(extensions: readonly string[], files: readonly string[]): readonly string[] {
  return files.filter((path) => {
    const dot = path.lastIndexOf(".");
    return dot >= 0 && extensions.includes(path.slice(dot + 1)) && !isForeignPath(path);
  });
}

const nodeExtensions = LANGUAGES.find(({ name }) => name === "Node.js")?.extensions ?? [];

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
const TEXT_COMMANDS = wordsOf("rg patch tee cut tr nl basename dirname realpath date seq");

/** The purpose of each PicoClaw image, beyond the built-in list. */
const SHIPPED: Readonly<Record<string, readonly string[]>> = {
  base: TEXT_COMMANDS,
  python: [...wordsOf("uv poetry pipenv tox nox ruff isort coverage gcc g++"), ...TEXT_COMMANDS],
  miniforge: [...wordsOf("uv poetry tox nox ruff isort coverage"), ...TEXT_COMMANDS],
  node: [...wordsOf("node npx gcc g++"), ...TEXT_COMMANDS],
};

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

export function environmentImages(settings: Readonly<Record<string, EnvironmentSetting>>) {
  return Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, imageOf(setting)]));
}

const PREFIX = "coding-agent-exec-";

/** The name under which an operator finds the container of a task. */
export function containerName(taskUuid: string): string {
  return `${PREFIX}${taskUuid}`;
}

/** A task's id becomes part of names on the engine: letters, digits, `.`, `_` and `-`, as a UUID has them. */
export function isTaskUuid(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(text);
}

/** Under these labels (with the sandbox's own prefix) a container remembers what it is for. */
export const ENVIRONMENT_LABELS = { environment: "environment", ready: "ready" } as const;
