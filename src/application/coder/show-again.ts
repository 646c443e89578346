import { showFile } from "../../domain/coder/show-file.ts";
import { splitBudget } from "../../domain/coder/split-budget.ts";
import type { ProjectFiles } from "../ports/coder.ts";

/** A file that a coder needs to see again, and the lines that matter in it. */
export interface FileLines {
  readonly path: string;
  readonly lines: readonly number[];
}

const LONGEST = 2_000_000;

/** Files as they stand by now. Of what does not fit, the lines that matter. */
export function showAgain(files: ProjectFiles, places: readonly FileLines[], limit: number): string {
  const found = places.flatMap(({ path, lines }) => {
    const file = files.read(path, LONGEST);
    return file === null ? [] : [{ path, lines, text: file.text }];
  });
  const shares = splitBudget(
    found.map(({ text }) => text.length),
    limit,
  );
  return found
    .map(({ path, lines, text }, at) =>
      showFile(path, text, { terms: [], limit: shares[at] ?? 0, focus: lines }),
    )
    .join("\n\n");
}
