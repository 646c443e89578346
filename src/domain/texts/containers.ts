import * as en from "./en/containers.ts";
import * as ja from "./ja/containers.ts";
import type { Locale } from "./locale.ts";

const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };

/** Texts of `doctor` about the Docker engine. Nothing here ends in a newline. */
export type DockerMessages = typeof en.dockerTexts;

export const dockerMessages = (locale: Locale): DockerMessages => TEXTS[locale].dockerTexts;

/** Texts about environments and their images. */
export type EnvironmentMessages = typeof en.environmentsTexts;

export const environmentMessages = (locale: Locale): EnvironmentMessages => TEXTS[locale].environmentsTexts;
