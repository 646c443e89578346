/**
 * A model's words on a forge are read by machines too: no name in them calls a person, no keyword closes another
 * issue, no hidden comment carries anything.
 */
export function quietText(text: string): string {
  return text
    .replace(/<!--[\s\S]*?(?:-->|$)/g, "")
    .replace(/(^|[^\w`])@(?=[\w])/g, "$1@\u200b")
    .replace(
      /\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)(:?\s+)(?=(?:[\w.-]+\/[\w.-]+)?#\d|https?:)/gi,
      "$1$2\u200b",
    )
    .trim();
}
