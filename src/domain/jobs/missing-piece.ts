/** As the runtime says of a module that it knew of and does not find any more. */
const GONE = [/^ENOENT reading "(.+)"$/, /^Cannot find module '(.+?)'/];

/**
 * The piece of the program that an error says is gone, or null. The program loads only pieces of its own, so one that
 * is not there was replaced or moved while this process ran.
 */
export function missingPiece(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at.name !== "BuildMessage" && at.name !== "ResolveMessage") continue;
    for (const pattern of GONE) {
      const path = pattern.exec(at.message)?.[1];
      if (path !== undefined) return path;
    }
  }
  return null;
}
