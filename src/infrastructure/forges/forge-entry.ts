import { createHmac, timingSafeEqual } from "node:crypto";
import type { DeliveryFormat, Forge } from "../../application/ports/forges.ts";
import type { ForgeFetch } from "./forge-fetch.ts";

export interface ForgeSettings {
  readonly token: string;
  readonly site: string;
  /** As configured; null is the forge's own. */
  readonly baseUrl: string | null;
  readonly fetch: ForgeFetch;
  readonly userAgent: string;
}

/** A forge in the registry: how its API is opened, and how its deliveries are signed and read. */
export interface ForgeEntry {
  open(settings: ForgeSettings): Promise<Forge>;
  readonly deliveries: DeliveryFormat;
}

/** In constant time, for any lengths. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHmac("sha256", "compare").update(text).digest();
  return expected !== "" && timingSafeEqual(digest(given), digest(expected));
}

/** Names a delivery by what it says. */
export function deliveryDigest(bytes: Uint8Array): string {
  return createHmac("sha256", "delivery").update(bytes).digest("hex");
}
