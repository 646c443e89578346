import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { McpHost } from "./host.ts";

/** Asks the client for the URIs of its roots; null when it offers none. */
export type AskRoots = () => Promise<readonly string[]> | null;

export interface Roots {
  /** A text when the workspace is not the client's to work on. */
  check(ask: AskRoots): Promise<string | null>;
  /** The client says that they changed. */
  forget(): void;
}

/**
 * A client that offers roots lends us those folders and no other. An empty list draws no border: clients without an
 * open folder send it, the official inspector too. A workspace named by hand is the user's word.
 */
export function createRoots(host: Pick<McpHost, "root" | "workspaceIsGiven" | "realPath">): Roots {
  let known: Promise<readonly string[]> | null = null;

  return {
    async check(ask) {
      if (host.workspaceIsGiven) return null;
      known ??= ask();
      if (known === null) return null;
      const asked = known;
      let uris: readonly string[];
      try {
        uris = await asked;
      } catch (error) {
        if (known === asked) known = null;
        return `the client did not tell its roots (${(error as Error).message}); name the folder with --workspace`;
      }
      if (uris.length === 0 || uris.some((uri) => contains(folderOf(uri, host), host.root))) return null;
      return `the workspace ${host.root} lies in none of the client's roots (${uris.slice(0, 5).join(", ").slice(0, 500)}); start the server in one of them, or name the folder with --workspace`;
    },
    forget() {
      known = null;
    },
  };
}

function folderOf(uri: string, host: Pick<McpHost, "realPath">): string | null {
  try {
    return host.realPath(fileURLToPath(uri));
  } catch {
    return null;
  }
}

function contains(folder: string | null, path: string): boolean {
  if (folder === null) return false;
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith("../") && !isAbsolute(inside);
}
