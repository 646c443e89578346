import type { Forge } from "../../application/ports/forges.ts";
import type { ForgeKind } from "../../domain/forges/forge-items.ts";
import type { createForgeFetch } from "./forge-fetch.ts";

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
