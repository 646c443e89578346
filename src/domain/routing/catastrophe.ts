/** Placeholder until analysed below. */
export function catastropheIn(
  pattern: string,
): { kind: "not-a-pattern" | "catastrophic"; detail: string } | null {
  try {
    new RegExp(pattern, "iu");
    return null;
  } catch (cause) {
    return { kind: "not-a-pattern", detail: (cause as Error).message };
  }
}
