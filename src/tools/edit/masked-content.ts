import { ToolError } from "../tool-error.ts";

/**
 * What tools show is masked, so a caller may send back a text in which `****` stands where the file has a secret.
 * Written as it is, it would destroy the secret; so it is refused.
 */
export function refuseMaskedContent(
  before: string,
  after: string,
  mask: (text: string) => string,
  path: string,
): void {
  if (!after.includes(MASK)) return;
  const shown = mask(before);
  if (shown === before) return;
  const stars = (text: string) => new Set(text.split("\n").filter((line) => line.includes(MASK)));
  const own = stars(before);
  const masked = [...stars(shown)].filter((line) => !own.has(line));
  const line = masked.find((each) => after.split("\n").includes(each));
  if (line === undefined) return;
  throw new ToolError(
    "MASKED_CONTENT",
    `the text has ${MASK} where ${path} has a secret; change the lines around it (text_editor str_replace) and leave that line alone`,
  );
}

const MASK = "****";
