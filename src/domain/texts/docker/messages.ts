import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** What `doctor` says of the Docker engine. Nothing here ends in a newline. */
export type DockerMessages = typeof en;

const CATALOGUES: Readonly<Record<Locale, DockerMessages>> = { ja, en };

export function dockerMessages(locale: Locale): DockerMessages {
  return CATALOGUES[locale];
}
