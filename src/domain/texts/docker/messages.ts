import type { Locale } from "../locale.ts";
import { type Texts, textsFor } from "../texts.ts";

/** What `doctor` says of the Docker engine. Nothing here ends in a newline. */
export type DockerMessages = Texts["docker"];

export function dockerMessages(locale: Locale): DockerMessages {
  return textsFor(locale).docker;
}
