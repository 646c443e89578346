import { recipeFor } from "./image-recipes.ts";

/** One entry of `command_executor.environments`. */
export type EnvironmentSetting =
  | string
  | { readonly image: string; readonly commands?: readonly string[] | undefined }
  | { readonly dockerfile: string; readonly commands?: readonly string[] | undefined };

/** What lies in all of our images and reads or rewrites text. */
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

/** What each of our images is for, beyond the built-in list. */
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
