import type { Forge, ForgeFailure } from "../application/ports/forges.ts";
import type { Config } from "../config/config.ts";
import type { Secrets } from "../config/secrets.ts";
import { byForge, type ForgeKind, forgeShape } from "../domain/forges/forge-kinds.ts";
import type { KnownSites } from "../domain/forges/forge-items.ts";
import { createForgeFetch } from "../infrastructure/forges/forge-fetch.ts";
import { createForge } from "../infrastructure/forges/forge-registry.ts";
import { VERSION } from "../version.ts";

export interface ForgeOptions {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly onWait?: (failure: ForgeFailure, waitMs: number) => void;
}

const TRY_MS = 30_000;
/** GitHub's limits are by the hour. */
const PATIENCE_MS = 65 * 60_000;

/** The forge of that kind, as configured; a text names the variable that is missing. */
export async function openForge(
  kind: ForgeKind,
  { config, secrets, onWait }: ForgeOptions,
): Promise<Forge | string> {
  const settings = config.forges[kind];
  const token = secrets.resolve(settings.token);
  if (token === undefined) return settings.token?.replace(/^env:/, "") ?? `forges.${kind}.token`;
  const fetch = createForgeFetch({
    fetch: globalThis.fetch,
    timeoutMs: TRY_MS,
    patienceMs: PATIENCE_MS,
    now: Date.now,
    pause: pauseUnlessAborted,
    ...(onWait !== undefined && { onWait }),
  });
  return createForge(kind, {
    token,
    site: siteOf(kind, settings.base_url),
    baseUrl: settings.base_url,
    fetch,
    userAgent: `picoclaw/${VERSION}`,
  });
}

/** Where people look, told from where the API answers. */
export function siteOf(kind: ForgeKind, baseUrl: string | null): string {
  if (baseUrl === null) return forgeShape(kind).site;
  return baseUrl.replace(/\/+$/, "").replace(/\/api\/v\d+$/, "");
}

/** Self-hosted sites, so that their addresses are recognised. */
export function knownSites(config: Config): KnownSites {
  return byForge((kind) => {
    const { base_url: url } = config.forges[kind];
    return url === null ? [] : [siteOf(kind, url)];
  });
}

function pauseUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, ms);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
