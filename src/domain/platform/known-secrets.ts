import { looksLikeSecretName } from "./secret-name.ts";

/** Secrets whose exact values a process knows, in the forms in which they may occur in a text. */

/** Shorter values would mangle honest text. */
const SHORTEST_SECRET = 6;

/** Each value as it is, URL-encoded and escaped in JSON. */
export function knownForms(secrets: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const form of [
      secret,
      secret.trim(),
      encodeURIComponent(secret.toWellFormed()),
      JSON.stringify(secret).slice(1, -1),
    ]) {
      if (form.length >= SHORTEST_SECRET && !/^\**$/.test(form)) forms.add(form);
    }
  }
  return [...forms];
}

/** A secret in a text: `start`–`end` is replaced. */
export interface SecretSpan {
  readonly start: number;
  readonly end: number;
}

export function findKnown(text: string, forms: readonly string[]): SecretSpan[] {
  const spans: SecretSpan[] = [];
  for (const form of forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1)) {
      spans.push({ start: at, end: at + form.length });
    }
  }
  return spans;
}

/** The text without them, longest first: one may be a part of another. */
export function hideKnown(text: string, forms: readonly string[]): string {
  let hidden = text;
  for (const form of forms.toSorted((a, b) => b.length - a.length))
    if (hidden.includes(form)) hidden = hidden.replaceAll(form, "****");
  return hidden;
}

/** A variable that looks like a secret but holds a path (SSH_AUTH_SOCK) or a word is not worth masking. */
const SHORTEST_VALUE = 8;

export function secretVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isWorthMasking(value) && !value.startsWith("/") && looksLikeSecretName(name)
      ? [value]
      : [],
  );
}

export function isWorthMasking(value: string): boolean {
  return value.length >= SHORTEST_VALUE;
}
