import { mkdtempSync } from "node:fs";
import { join } from "node:path";

/** A folder in which something is tried out, or why there is none: whoever diagnoses says so and goes on. */
export function trialFolder(storage: string): string | { readonly complaint: string } {
  try {
    return mkdtempSync(join(storage, "trial-"));
  } catch (error) {
    return { complaint: error instanceof Error ? error.message : String(error) };
  }
}
