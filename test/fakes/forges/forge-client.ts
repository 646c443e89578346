import type { Forge } from "../../../src/application/ports/forges.ts";
import type { ForgeKind } from "../../../src/domain/config/configured-kinds.ts";
import { createForgeFetch, type ForgeFetch } from "../../../src/infrastructure/forges/forge-fetch.ts";
import { createGitHub } from "../../../src/infrastructure/forges/github-client.ts";
import { createGitLab } from "../../../src/infrastructure/forges/gitlab-client.ts";
import type { World } from "./world.ts";

/** The real client of a forge that a test runs; without another way to ask, it waits for nothing. */
export function openForge(
  kind: ForgeKind,
  {
    world,
    url,
    fetch = hastyFetch(),
  }: { readonly world: World; readonly url: string; readonly fetch?: ForgeFetch },
): Forge {
  const { token } = world;
  if (kind === "gitlab") return createGitLab({ token, site: url, fetch });
  return createGitHub({ token, apiUrl: `${url}/api/v3`, site: url, userAgent: "picoclaw", fetch });
}

export function hastyFetch(patienceMs = 0): ForgeFetch {
  return createForgeFetch({
    mask: (text) => text,
    fetch: globalThis.fetch,
    timeoutMs: 60_000,
    patienceMs,
    now: Date.now,
    pause: async () => {},
  });
}
