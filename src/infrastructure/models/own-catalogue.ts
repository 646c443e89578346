import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Catalogue,
  mergeCatalogues,
  readCatalogue,
  SHIPPED_CATALOGUE,
} from "../../domain/models/catalogue.ts";

export interface LoadedCatalogue {
  readonly catalogue: Catalogue;
  /** The file that is there and cannot be used; the shipped table holds then. */
  readonly trouble: { readonly file: string; readonly detail: string } | null;
}

/** The shipped table of models, with the entries of `models.json` in PICOCLAW_HOME before it. */
export function loadCatalogue(home: string): LoadedCatalogue {
  const file = join(home, "models.json");
  const refused = (detail: string): LoadedCatalogue => ({
    catalogue: SHIPPED_CATALOGUE,
    trouble: { file, detail },
  });
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
    return code === "ENOENT" || code === "ENOTDIR"
      ? { catalogue: SHIPPED_CATALOGUE, trouble: null }
      : refused(code);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refused("JSON");
  }
  const reading = readCatalogue(value);
  if (!reading.ok) return refused(reading.where || "models");
  return { catalogue: mergeCatalogues(SHIPPED_CATALOGUE, reading.catalogue), trouble: null };
}
