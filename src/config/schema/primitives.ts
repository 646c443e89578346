import { z } from "zod";

/** What the reference, the loader and the trust rules need to know of a key beyond its type. */
export interface KeyMeta {
  readonly description: string;
  /** Holds a secret: only `env:NAME` may stand in a file. */
  readonly secret?: boolean;
  /** `env:NAME` is kept for the user of the key to resolve, not replaced at loading. */
  readonly reference?: boolean;
  /** How the type reads in the reference, where the schema alone says too little. */
  readonly shown?: string;
}

const SIZE = /^(\d+(?:\.\d+)?)\s*(B|[KMGT]B|[KMGT]iB|[kmgt])?$/;
const POWERS = "KMGT";

/** `2GiB`, `500MB`, `4g`, `1048576` → bytes; undefined when it is no size. */
export function parseSize(text: string): number | undefined {
  const match = SIZE.exec(text.trim());
  if (match === null) return undefined;
  const unit = match[2] ?? "B";
  const power = POWERS.indexOf(unit.charAt(0).toUpperCase()) + 1;
  const base = /^[KMGT]B$/.test(unit) ? 1000 : 1024;
  const bytes = Math.floor(Number(match[1]) * base ** power);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

export function size(bytes: number, description: string) {
  return z
    .union([z.int().nonnegative(), z.string().refine((text) => parseSize(text) !== undefined)])
    .default(bytes)
    .transform((value) => (typeof value === "number" ? value : (parseSize(value) ?? 0)))
    .meta({ description, shown: 'size ("2GiB", "500MB", bytes)' });
}

export function flag(value: boolean, description: string) {
  return z.boolean().default(value).meta({ description });
}

export function count(value: number, description: string, { min = 0 }: { readonly min?: number } = {}) {
  return z.int().min(min).default(value).meta({ description });
}

export function text(value: string, description: string) {
  return z.string().default(value).meta({ description });
}

export function optionalText(description: string) {
  return z.string().min(1).nullable().default(null).meta({ description });
}

export function texts(values: readonly string[], description: string) {
  return z
    .array(z.string().min(1))
    .default([...values])
    .meta({ description });
}

export function httpUrl() {
  return z.string().regex(/^https?:\/\/[^\s@]+$/);
}

export function optionalUrl(description: string) {
  return httpUrl().nullable().default(null).meta({ description, shown: "http(s) URL without credentials" });
}

export const REFERENCE = /^env:[A-Za-z_][A-Za-z0-9_]*$/;

export function secret(reference: string | null, description: string) {
  return z
    .string()
    .regex(REFERENCE)
    .nullable()
    .default(reference)
    .meta({ description, secret: true, reference: true, shown: "env:NAME" });
}

/** A name that people choose: a provider, an MCP server, an environment. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
export const chosenName = z.string().regex(NAME);
