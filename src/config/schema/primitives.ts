import { z } from "zod";
import { parseByteSize } from "../scalar-values.ts";

export function size(bytes: number, description: string) {
  return z
    .union([z.int().nonnegative(), z.string().refine((text) => parseByteSize(text) !== undefined)])
    .default(bytes)
    .transform((value) => (typeof value === "number" ? value : (parseByteSize(value) ?? 0)))
    .meta({ description, size: true, shown: 'size ("2GiB", "500MB", bytes)' });
}

/** A map of keys that a file may leave out, because each of them has a default. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>);
}

export function choice<const Name extends string>(names: readonly Name[], value: Name, description: string) {
  return z.enum(names).default(value).meta({ description });
}

export function flag(value: boolean, description: string) {
  return z.boolean().default(value).meta({ description });
}

export function count(value: number, description: string, min = 0, max = Number.MAX_SAFE_INTEGER) {
  return z.int().min(min).max(max).default(value).meta({ description });
}

/** An integer from 1. */
export function positive(value: number, description: string) {
  return count(value, description, 1);
}

export function amount(value: number, description: string) {
  return z.number().positive().default(value).meta({ description });
}

export function optionalAmount(description: string) {
  return z.number().nonnegative().nullable().default(null).meta({ description });
}

export function text(value: string, description: string) {
  return z.string().default(value).meta({ description });
}

export function optionalText(description: string, value: string | null = null) {
  return z.string().min(1).nullable().default(value).meta({ description });
}

export function optionalChoice<const Name extends string>(
  names: readonly Name[],
  value: NoInfer<Name> | null,
  description: string,
) {
  return z.enum(names).nullable().default(value).meta({ description });
}

export function texts(values: readonly string[], description: string) {
  return z
    .array(z.string().min(1))
    .default([...values])
    .meta({ description });
}

/** Of `domain/policy/protection.ts`: a group with a repetition takes more than linear time. */
const NAME_PATTERN = /^(?:[^@!?+*]|[@!?+*](?!\())+$/;

export function namePatterns(values: readonly string[], description: string) {
  const pattern = z
    .string()
    .regex(NAME_PATTERN)
    .meta({ shown: "name, *.key, config/**, [ab]*, or *.{key,pem}" });
  return z
    .array(pattern)
    .default([...values])
    .meta({ description, shown: "list of patterns" });
}

/** Entries of `domain/policy/network.ts`; the finer points are checked when the file is loaded. */
const HOST_ENTRY = /^(?:\*|(?:\*\.)?[^\s:*/\\@?#%[\]]+|\[[0-9A-Fa-f:.]+\])(?::(?:\*|\d{1,5}))?$/;

export function hosts(description: string, values: readonly string[] = []) {
  const host = z.string().regex(HOST_ENTRY).meta({ shown: "example.org, *.example.org or host:port" });
  return z
    .array(host)
    .default([...values])
    .meta({ description, shown: "list of hosts" });
}

export const URL_SHOWN = "http(s) URL without credentials";

export function httpUrl() {
  return z.string().regex(/^https?:\/\/[^\s@]+$/);
}

export function optionalUrl(description: string, value: string | null = null) {
  return httpUrl().nullable().default(value).meta({ description, shown: URL_SHOWN });
}

const REFERENCE = /^env:[A-Za-z_][A-Za-z0-9_]*$/;

export function secret(reference: string | null, description: string) {
  return z
    .string()
    .regex(REFERENCE)
    .nullable()
    .default(reference)
    .meta({ description, secret: true, reference: true, shown: "env:NAME" });
}

/** A name that people choose: a provider, an MCP server, an environment. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
export const chosenName = z.string().regex(NAME);
