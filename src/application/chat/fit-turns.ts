import { estimateTokens } from "../../domain/session/estimate-tokens.ts";
import type { Turn } from "../ports/sessions.ts";

/** What a turn costs beside its text. */
const OVERHEAD = 4;

export function tokensOf(turns: readonly Turn[]): number {
  return turns.reduce((sum, { text }) => sum + estimateTokens(text) + OVERHEAD, 0);
}

/** The newest turns that fit together, in order; the newest alone is always given. */
export function newest(turns: readonly Turn[], limitTokens: number): Turn[] {
  let left = limitTokens;
  let first = turns.length;
  while (first > 0) {
    left -= tokensOf([turns[first - 1]!]);
    if (left < 0 && first < turns.length) break;
    first -= 1;
  }
  return turns.slice(first);
}
