/** About how many tokens a text is: four Latin characters each, one for each character of Japanese. */
export function estimateTokens(text: string): number {
  let wide = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x2e7f) wide += 1;
  return wide + Math.ceil((text.length - wide) / 4);
}

/** The longest beginning of a text that stays within so many tokens, never half a character. */
export function cutToTokens(text: string, limit: number): string {
  if (estimateTokens(text) <= limit) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateTokens(text.slice(0, middle)) < limit) low = middle;
    else high = middle - 1;
  }
  return low === 0
    ? ""
    : `${text
        .slice(0, low)
        .toWellFormed()
        .replace(/\ufffd$/u, "")}…`;
}
