/** Characters; more is a file, not a message. */
export const LONGEST_MESSAGE = 1_000_000;

/** Line ends made one, other control characters and lone surrogates taken out: they steer terminals and break requests. */
export function cleanMessage(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]/g, "")
    .toWellFormed();
}
