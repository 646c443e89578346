/** Text that every database takes: Postgres knows no NUL, and half a surrogate pair is no character. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}
