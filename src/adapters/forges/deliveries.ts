import { createHmac, timingSafeEqual } from "node:crypto";
import type { IntakeEvent } from "../../application/tasks/intake.ts";

export interface Delivery {
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** What the bytes say. */
  readonly body: unknown;
  readonly site: string;
}

/** How one forge signs and words what it posts. */
export interface DeliveryFormat {
  /** The header without which nothing is genuine. */
  readonly signedBy: string;
  isGenuine(headers: Headers, bytes: Uint8Array, secret: string): boolean;
  /** The JSON in a delivery's bytes; undefined when there is none. */
  parse(headers: Headers, bytes: Uint8Array): unknown;
  /** None when it says nothing to us; null when it is no delivery of this forge. */
  read(delivery: Delivery): readonly IntakeEvent[] | null;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In a time that tells nothing, whatever the lengths. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHmac("sha256", "compare").update(text).digest();
  return expected !== "" && timingSafeEqual(digest(given), digest(expected));
}

/** Names a delivery by what it says. */
export function deliveryDigest(bytes: Uint8Array): string {
  return createHmac("sha256", "delivery").update(bytes).digest("hex");
}
