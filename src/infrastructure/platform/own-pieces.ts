import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

/**
 * Remembers which files the program consists of now; later it names one that is gone, or null. From sources that is
 * the folder they lie in.
 */
export function watchOwnPieces(here = import.meta.dir): () => string | null {
  const list = join(here, "pieces.json");
  if (basename(here) === "runtime" || !existsSync(list)) return () => (existsSync(here) ? null : here);
  const pieces = JSON.parse(readFileSync(list, "utf8")) as readonly string[];
  return () => {
    if (!existsSync(here)) return here;
    const present = new Set(readdirSync(here));
    const gone = pieces.find((name) => !present.has(name));
    return gone === undefined ? null : join(here, gone);
  };
}
