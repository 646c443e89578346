import type { DeliveryFormat, Forge, ForgeFailure } from "../../application/ports/forges.ts";
import { byForge, FORGE_KINDS, type ForgeKind } from "../../domain/config/configured-kinds.ts";
import { forgeSite } from "../../domain/forges/forge-items.ts";
import { maskAtEdge } from "../platform/standard-streams.ts";
import { pauseUnlessAborted } from "../platform/timers.ts";
import type { ForgeEntry, ForgeSettings } from "./forge-entry.ts";
import { createForgeFetch } from "./forge-fetch.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";

const FORGES: Readonly<Record<ForgeKind, ForgeEntry>> = { github, gitlab };

export function createForge(kind: ForgeKind, settings: ForgeSettings): Promise<Forge> {
  return FORGES[kind].open(settings);
}

export const DELIVERY_FORMATS: Readonly<Record<ForgeKind, DeliveryFormat>> = byForge(
  (kind) => FORGES[kind].deliveries,
);

const TRY_MS = 30_000;
/** GitHub's limits are by the hour. */
const PATIENCE_MS = 65 * 60_000;

interface ForgeConnection extends Pick<ForgeSettings, "token" | "baseUrl" | "userAgent"> {
  readonly onWait?: ((failure: ForgeFailure, waitMs: number) => void) | undefined;
}

/** A forge over the network, with patience for its limits. */
function connectForge(kind: ForgeKind, { onWait, ...connection }: ForgeConnection): Promise<Forge> {
  const fetch = createForgeFetch({
    fetch: globalThis.fetch,
    timeoutMs: TRY_MS,
    patienceMs: PATIENCE_MS,
    now: Date.now,
    pause: pauseUnlessAborted,
    mask: maskAtEdge,
    ...(onWait !== undefined && { onWait }),
  });
  return createForge(kind, { ...connection, site: forgeSite(kind, connection.baseUrl), fetch });
}

/** `forges:` of the configuration, and how its references are resolved. */
export interface ConfiguredForges extends Pick<ForgeConnection, "userAgent" | "onWait"> {
  readonly forges: Readonly<
    Record<ForgeKind, { readonly token: string | null; readonly base_url: string | null }>
  >;
  readonly resolve: (reference: string | null) => string | undefined;
}

/** The forge of that kind, as configured; a text names the variable that is missing. */
export async function openForge(
  kind: ForgeKind,
  { forges, resolve, userAgent, onWait }: ConfiguredForges,
): Promise<Forge | string> {
  const { token: reference, base_url: baseUrl } = forges[kind];
  const token = resolve(reference);
  if (token === undefined) return reference?.replace(/^env:/, "") ?? `forges.${kind}.token`;
  return connectForge(kind, { token, baseUrl, onWait, userAgent });
}

/** Those that have a token. */
export async function openForges(configured: ConfiguredForges): Promise<ReadonlyMap<ForgeKind, Forge>> {
  const opened = new Map<ForgeKind, Forge>();
  for (const kind of FORGE_KINDS) {
    const forge = await openForge(kind, configured);
    if (typeof forge !== "string") opened.set(kind, forge);
  }
  return opened;
}
