import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { ModelMessage } from "../ports/models.ts";

export interface ShortenLimits {
  /** How many messages at the end count as new. */
  readonly newest: number;
  readonly newChars: number;
  readonly oldChars: number;
  /** Whose messages are cut. Default: everybody's. */
  readonly role?: ModelMessage["role"];
}

/** For a model whose window is full: what was said shrinks to head and tail, the newest least. */
export function shortenExchange(
  exchange: readonly ModelMessage[],
  { newest, newChars, oldChars, role }: ShortenLimits,
): ModelMessage[] {
  return exchange.map((message, at) => {
    if (role !== undefined && message.role !== role) return message;
    const limit = at >= exchange.length - newest ? newChars : oldChars;
    return message.text.length <= limit ? message : { ...message, text: cutMiddle(message.text, limit) };
  });
}
