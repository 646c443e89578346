import { findSecrets, maskedForm, type SecretSpan } from "./mask-spans.ts";
import { createMaskStream, type MaskStream } from "./mask-stream.ts";

export { looksLikeSecretName } from "../platform/secret-name.ts";
export type { MaskStream };

export interface Masker {
  /** The text with every secret replaced. Idempotent. */
  mask(text: string): string;
  /** For output that comes in pieces: a secret split over pieces is found as well. */
  maskStream(): MaskStream;
}

/** Shorter values would mangle honest text. */
const SHORTEST_SECRET = 6;

/**
 * `secrets` are exact values (resolved keys and tokens); they are found also where they stand URL-encoded or
 * escaped in JSON. Values under six characters are left to the rules of shape and name.
 */
export function createMasker({ secrets = [] }: { readonly secrets?: readonly string[] } = {}): Masker {
  const values = knownForms(secrets);
  const find: FindSecretSpans = (text) => joinSpans(text, [...findSecrets(text), ...findKnown(text, values)]);
  return {
    mask: (text) => maskUntilStable(text, find(text), find),
    maskStream: () =>
      createMaskStream({
        find,
        replace: (text, spans) => maskUntilStable(text, spans, find),
        longestMultiline: Math.max(0, ...values.filter((value) => value.includes("\n")).map((v) => v.length)),
        longest: Math.max(0, ...values.map((value) => value.length)),
      }),
  };
}

/** Masks by shape and name alone. */
export function maskSecrets(text: string): string {
  const find: FindSecretSpans = (part) => joinSpans(part, findSecrets(part));
  return maskUntilStable(text, find(text), find);
}

type FindSecretSpans = (text: string) => SecretSpan[];

/** A mask may show that its neighbours are secret as well: replaces until nothing more is found. */
function maskUntilStable(text: string, spans: readonly SecretSpan[], find: FindSecretSpans): string {
  if (spans.length === 0) return text;
  let masked = replaceSpans(text, spans);
  for (let before = text; masked !== before; ) {
    before = masked;
    masked = replaceSpans(masked, find(masked));
  }
  return masked;
}

function knownForms(secrets: readonly string[]): string[] {
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

function findKnown(text: string, values: readonly string[]): SecretSpan[] {
  const spans: SecretSpan[] = [];
  for (const value of values) {
    for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
      spans.push({ from: at, start: at, end: at + value.length });
    }
  }
  return spans;
}

/** In order, overlapping ones made one, each with the stars behind it, which an earlier masking left. */
function joinSpans(text: string, spans: readonly SecretSpan[]): SecretSpan[] {
  const result: SecretSpan[] = [];
  const starred = spans.map((span) => (text.charAt(span.end) === "*" ? pastStars(text, span) : span));
  for (const span of starred.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1);
    if (last === undefined || span.start >= last.end) result.push(span);
    else {
      result[result.length - 1] = {
        from: Math.min(last.from, span.from),
        start: last.start,
        end: Math.max(last.end, span.end),
      };
    }
  }
  return result;
}

function pastStars(text: string, span: SecretSpan): SecretSpan {
  let end = span.end;
  while (text.charAt(end) === "*") end += 1;
  return { ...span, end };
}

function replaceSpans(text: string, spans: readonly SecretSpan[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    parts.push(text.slice(at, start), maskedForm(text.slice(start, end)));
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}
