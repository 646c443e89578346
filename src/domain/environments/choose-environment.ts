import { detectLanguage } from "./detect-language.ts";

export interface EnvironmentRequest {
  /** The name that a plan or a person asked for. */
  readonly asked?: string;
  /** Names that the configuration has. */
  readonly available: readonly string[];
  readonly fallback: string;
  /** The project's files, where they are known already. */
  readonly files?: readonly string[];
}

export interface ChosenEnvironment {
  readonly name: string;
  readonly source: "asked" | "detected" | "default";
  /** The file that gave it away, where it was detected. */
  readonly because?: string;
  readonly notice?: EnvironmentNotice;
}

/** What a person should know of the choice. */
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
