import type { Forge, ForgeFailure } from "../../application/ports/forges.ts";
import { type ForgeKind, forgeSite } from "../../domain/forges/forge-items.ts";
import { pauseUnlessAborted } from "../platform/timers.ts";
import { createForgeFetch } from "./forge-fetch.ts";

export interface ForgeSettings {
  readonly token: string;
  /** Where people look. */
  readonly site: string;
  /** As configured; null is the forge's own. */
  readonly baseUrl: string | null;
  readonly fetch: ReturnType<typeof createForgeFetch>;
  readonly userAgent: string;
}

/** One entry a forge; its library is loaded when it is opened. */
const FORGES: Readonly<Record<ForgeKind, (settings: ForgeSettings) => Promise<Forge>>> = {
  async github({ baseUrl, ...settings }) {
    const { createGitHub } = await import("./github.ts");
    const apiUrl = (baseUrl ?? "https://api.github.com").replace(/\/+$/, "");
    return createGitHub({ ...settings, apiUrl });
  },
  gitlab: async (settings) => (await import("./gitlab.ts")).createGitLab(settings),
};

export function createForge(kind: ForgeKind, settings: ForgeSettings): Promise<Forge> {
  return FORGES[kind](settings);
}

const TRY_MS = 30_000;
/** GitHub's limits are by the hour. */
const PATIENCE_MS = 65 * 60_000;

export interface ForgeConnection extends Pick<ForgeSettings, "token" | "baseUrl" | "userAgent"> {
  readonly onWait?: ((failure: ForgeFailure, waitMs: number) => void) | undefined;
}

/** A forge over the network, with patience for its limits. */
export function connectForge(kind: ForgeKind, { onWait, ...connection }: ForgeConnection): Promise<Forge> {
  const fetch = createForgeFetch({
    fetch: globalThis.fetch,
    timeoutMs: TRY_MS,
    patienceMs: PATIENCE_MS,
    now: Date.now,
    pause: pauseUnlessAborted,
    ...(onWait !== undefined && { onWait }),
  });
  return createForge(kind, { ...connection, site: forgeSite(kind, connection.baseUrl), fetch });
}
