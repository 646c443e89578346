/**
 * A tool's answer as a model reads it: its facts in one line, then the text as it stands. Escaped in JSON, a text costs more and
 * is copied into an edit with its escapes.
 */
export function envelopeText(envelope: object): string {
  const { data } = envelope as { readonly data?: object };
  const { content, ...facts } = (data ?? {}) as { readonly content?: unknown };
  if (typeof content !== "string") return JSON.stringify(envelope);
  return `${JSON.stringify({ ...envelope, data: facts })}\n${content}`;
}
