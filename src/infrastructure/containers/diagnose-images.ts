import type { DoctorCheck } from "../../application/ports/check.ts";
import type { Opened } from "../../application/ports/opening.ts";
import { recipeFor, withTag } from "../../domain/containers/image-recipes.ts";
import type { Locale } from "../../domain/texts/messages.ts";
import { environmentMessages } from "../../domain/texts/texts.ts";
import type { Engine } from "./docker-engine.ts";
import { createDockerImages } from "./docker-images.ts";

/** Which images of environments are there. A missing one is a fault only where environments are switched on. */
export async function diagnoseImages(
  engine: Engine,
  { environments, enabled }: Opened["config"]["command_executor"],
  locale: Locale,
): Promise<DoctorCheck> {
  const texts = environmentMessages(locale);
  const images = createDockerImages(engine);
  const named = Object.values(environments).flatMap((image) =>
    typeof image === "string" ? [withTag(image)] : [],
  );
  const looked = await Promise.all(
    named.map(async (name) => ({ name, there: (await images.inspect(name)) !== null })),
  );
  const missing = looked.filter(({ there }) => !there).map(({ name }) => name);
  const there = looked.filter((image) => image.there).map(({ name }) => name);
  const ours = missing.every((name) => recipeFor(name) !== undefined);
  return {
    name: "environment-images",
    ok: missing.length === 0 || !enabled,
    text: texts.images(there, missing),
    ...(ours && { remedy: "picoclaw images build" }),
  };
}
